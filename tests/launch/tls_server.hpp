// SPDX-License-Identifier: Apache-2.0
// A stand-in for the apiserver: TLS on a port of 127.0.0.1, certificates of a CA made for the test, and an answer per
// request that the test gives.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "certificates.hpp"
#include "support.hpp"

namespace launch_test {

class TlsServer {
 public:
  struct Answer {
    int status = 200;
    std::string body{};
    bool cut = false;   ///< closes in the middle of the body
    bool hold = false;  ///< never answers
  };
  using Handler = std::function<Answer(std::string const& request)>;

  explicit TlsServer(Handler handler, std::string const& certificate = "server.crt")
      : handler_(std::move(handler)), acceptor_(io_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    auto const& files = Certificates::shared();
    tls_.use_certificate_chain_file(files.path(certificate));
    tls_.use_private_key_file(files.path("server.key"), ssl::context::pem);
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsServer() {
    stopping_ = true;
    boost::asio::ip::tcp::socket wake(io_);
    boost::system::error_code ignored;
    wake.connect(acceptor_.local_endpoint(), ignored);
    wake.close(ignored);
    thread_.join();
  }
  TlsServer(TlsServer const&) = delete;
  TlsServer& operator=(TlsServer const&) = delete;

  [[nodiscard]] std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }
  [[nodiscard]] std::vector<std::string> requests() {
    std::lock_guard const lock(mutex_);
    return requests_;
  }

 private:
  using Stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;
  struct ssl : boost::asio::ssl::context_base {
    using context = boost::asio::ssl::context;
  };

  void serve() {
    for (;;) {
      boost::system::error_code error;
      auto& stream = streams_.emplace_back(acceptor_.accept(io_, error), tls_);
      if (stopping_) return;
      if (error || answer(stream)) streams_.pop_back();
    }
  }

  /// False for a connection that is held open.
  bool answer(Stream& stream) {
    boost::system::error_code error;
    stream.handshake(boost::asio::ssl::stream_base::server, error);
    if (error) return true;
    std::string request;
    boost::asio::read_until(stream, boost::asio::dynamic_buffer(request), "\r\n\r\n", error);
    if (error) return true;
    {
      std::lock_guard const lock(mutex_);
      requests_.push_back(request);
    }
    auto const answer = handler_(request);
    if (answer.hold) return false;
    auto text = prdist::concat("HTTP/1.1 ", answer.status,
                               " X\r\nContent-Type: application/json\r\nContent-Length: ", answer.body.size(),
                               "\r\n\r\n", answer.body);
    if (answer.cut) text.resize(text.size() - answer.body.size() / 2);
    boost::asio::write(stream, boost::asio::buffer(text), error);
    if (!answer.cut) stream.shutdown(error);
    return true;
  }

  Handler handler_;
  boost::asio::io_context io_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_server};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::list<Stream> streams_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// A folder as Kubernetes mounts it for a service account.
class ServiceAccount {
 public:
  explicit ServiceAccount(std::string const& ca = "ca.crt") {
    write_file(folder_ / "token", "token-of-the-test\n");
    write_file(folder_ / "namespace", "team-a");
    std::filesystem::copy_file(Certificates::shared().path(ca), folder_ / "ca.crt");
  }

  [[nodiscard]] std::filesystem::path const& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace launch_test
