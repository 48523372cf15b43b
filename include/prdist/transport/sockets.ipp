// SPDX-License-Identifier: Apache-2.0
// What Tcp and Beast share of sockets: binding or adopting a listening one, accepting, connecting in bounded time.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <prdist/core/log.hpp>
#include <prdist/transport/frame_stream.ipp>

namespace prdist::detail {

inline Error unresolved(Endpoint const& endpoint, error_code error) {
  return {Errc::transport_unresolved, to_string(endpoint), ": the host name is not known (", error.message(), ")"};
}

inline Result<tcp::acceptor> adopt(asio::io_context& context, int descriptor) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "PRDIST_LISTEN_FD=", descriptor, " ", what,
                 ": the launcher must hand over a TCP socket that is bound to a port");
  };
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0) return wrong("is not a socket");
  sockaddr_storage address{};
  size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return wrong("has no address");
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return wrong("is not a TCP socket");
  // The port stands at the same place in both families' addresses.
  if (reinterpret_cast<sockaddr_in const&>(address).sin_port == 0) return wrong("is bound to no port");
  // A launcher that did not know what it starts hands the socket over bound only: see launch/ports.hpp.
  if (listening == 0 && ::listen(descriptor, SOMAXCONN) != 0) return wrong("cannot listen");
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  tcp::acceptor acceptor(context);
  error_code error;
  acceptor.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor, error);
  if (error) return wrong(error.message());
  return acceptor;
}

inline Result<tcp::acceptor> bind(asio::io_context& context, Endpoint const& endpoint) {
  error_code error;
  auto const results = tcp::resolver(context).resolve(endpoint.host, std::to_string(endpoint.port), error);
  if (error || results.empty()) return unresolved(endpoint, error);
  tcp::endpoint const address = results.begin()->endpoint();
  tcp::acceptor acceptor(context);
  acceptor.open(address.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(address, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) {
    return Error(Errc::transport_in_use, to_string(endpoint),
                 " is in use by another process: choose another PADDLE_PORT or end that process");
  }
  if (error == boost::system::errc::address_not_available) {
    return Error(Errc::config_invalid, "cannot listen on ", to_string(endpoint),
                 ": POD_IP must be an address of this machine");
  }
  if (error) {
    return Error(Errc::transport_failed, "cannot listen on ", to_string(endpoint), ": ", error.message());
  }
  return acceptor;
}

/// What a listener has accepted: it ends with the listener.
class AcceptedList {
 public:
  /// False when the listener has ended: then `who` is not to be started.
  [[nodiscard]] bool add(std::weak_ptr<Endable> who) {
    std::lock_guard const lock(mutex_);
    if (ended_) return false;
    std::erase_if(list_, [](auto const& weak) { return weak.expired(); });
    list_.push_back(std::move(who));
    return true;
  }

  void close_all() {
    std::vector<std::weak_ptr<Endable>> closing;
    {
      std::lock_guard const lock(mutex_);
      ended_ = true;
      closing.swap(list_);
    }
    for (auto const& weak : closing) {
      if (auto const it = weak.lock()) it->close();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Endable>> list_;
  bool ended_ = false;
};

/// Accepts sockets onto the pool's contexts until it is ended.
class AcceptLoop final : public Endable, public std::enable_shared_from_this<AcceptLoop> {
 public:
  using Accepted = std::function<void(asio::io_context&, tcp::socket)>;

  AcceptLoop(std::shared_ptr<IoCore> core, asio::io_context& context, tcp::acceptor acceptor, Accepted accepted)
      : core_(std::move(core)),
        context_(context),
        acceptor_(std::move(acceptor)),
        pause_(context),
        accepted_(std::move(accepted)) {}

  void start() {
    number_ = core_->remember(context_, weak_from_this());
    asio::post(context_, [self = shared_from_this()] { self->accept(); });
  }

  void close() override {
    core_->run_on(context_, [this] { end(); });
  }

  void end() override {
    core_->forget(number_);
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    accepted_ = nullptr;
  }

  [[nodiscard]] Endpoint endpoint() const {
    error_code ignored;
    auto const local = acceptor_.local_endpoint(ignored);
    return {local.address().to_string(), local.port()};
  }

 private:
  void accept() {
    if (!acceptor_.is_open()) return;
    auto& target = core_->next();
    acceptor_.async_accept(target, [self = shared_from_this(), &target](error_code error, tcp::socket socket) {
      if (!self->accepted_) return;
      if (!error) {
        self->accepted_(target, std::move(socket));
        return self->accept();
      }
      // Out of descriptors, most likely: those who wait are served when others have gone.
      log(Level::warning, "cannot accept a connection now: ", error.message());
      self->pause_.expires_after(std::chrono::milliseconds(100));
      self->pause_.async_wait([self](error_code) { self->accept(); });
    });
  }

  std::shared_ptr<IoCore> core_;
  asio::io_context& context_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  Accepted accepted_;
  std::uint64_t number_ = 0;
};

inline Result<std::shared_ptr<AcceptLoop>> start_accepting(IoPool& pool, ListenOptions const& options,
                                                           AcceptLoop::Accepted accepted) {
  auto& context = pool.core()->next();
  auto acceptor = options.descriptor >= 0 ? adopt(context, options.descriptor) : bind(context, options.endpoint);
  if (!acceptor) return acceptor.error();
  auto loop = std::make_shared<AcceptLoop>(pool.core(), context, std::move(*acceptor), std::move(accepted));
  loop->start();
  return loop;
}

/// Accepts until it is destroyed; what it accepted ends with it.
class SocketListener final : public Listener {
 public:
  /// `accepted` gets the list to which it adds what it makes of a socket.
  template <class OnAccept>
  static Result<std::unique_ptr<Listener>> start(std::shared_ptr<IoPool> pool, ListenOptions const& options,
                                                 OnAccept on_accept) {
    auto list = std::make_shared<AcceptedList>();
    auto loop = start_accepting(*pool, options, [list, on_accept](asio::io_context& context, tcp::socket socket) {
      on_accept(list, context, std::move(socket));
    });
    if (!loop) return loop.error();
    return std::unique_ptr<Listener>(new SocketListener(std::move(pool), std::move(list), std::move(*loop)));
  }

  ~SocketListener() override {
    loop_->close();
    list_->close_all();
  }

  [[nodiscard]] Endpoint endpoint() const override { return endpoint_; }

 private:
  SocketListener(std::shared_ptr<IoPool> pool, std::shared_ptr<AcceptedList> list, std::shared_ptr<AcceptLoop> loop)
      : pool_(std::move(pool)), list_(std::move(list)), loop_(std::move(loop)), endpoint_(loop_->endpoint()) {}

  std::shared_ptr<IoPool> pool_;
  std::shared_ptr<AcceptedList> list_;
  std::shared_ptr<AcceptLoop> loop_;
  Endpoint endpoint_;
};

/// A socket connected to `endpoint`, on `context`; blocks at most `timeout`, also when it is the name that gets no
/// answer.
inline Result<tcp::socket> connect_socket(asio::io_context& context, Endpoint const& endpoint, Duration timeout) {
  struct Attempt {
    explicit Attempt(asio::io_context& on) : resolver(on), socket(on), timer(on) {}
    tcp::resolver resolver;
    tcp::socket socket;
    asio::steady_timer timer;
    std::promise<error_code> done;
    bool resolved = false;
    bool told = false;
    void tell(error_code error) {
      timer.cancel();
      if (!std::exchange(told, true)) done.set_value(error);
    }
  };
  auto const attempt = std::make_shared<Attempt>(context);
  asio::post(context, [attempt, endpoint, timeout] {
    attempt->timer.expires_after(timeout);
    attempt->timer.async_wait([attempt](error_code error) {
      if (error) return;
      attempt->tell(asio::error::timed_out);
      attempt->resolver.cancel();
      error_code ignored;
      attempt->socket.close(ignored);
    });
    attempt->resolver.async_resolve(endpoint.host, std::to_string(endpoint.port),
                                    [attempt](error_code failed, tcp::resolver::results_type const& results) {
                                      if (attempt->told) return;
                                      if (failed) return attempt->tell(failed);
                                      attempt->resolved = true;
                                      asio::async_connect(
                                          attempt->socket, results,
                                          [attempt](error_code error, tcp::endpoint const&) { attempt->tell(error); });
                                    });
  });
  auto const error = attempt->done.get_future().get();
  if (!error) return std::move(attempt->socket);
  if (error == asio::error::timed_out) {
    return Error(Errc::transport_no_answer, to_string(endpoint), ": no answer within ", seconds(timeout), " s");
  }
  if (!attempt->resolved) return unresolved(endpoint, error);
  if (error == asio::error::connection_refused) {
    return Error(Errc::transport_refused, to_string(endpoint), ": connection refused, nobody listens there");
  }
  return Error(Errc::transport_failed, to_string(endpoint), ": ", error.message());
}

}  // namespace prdist::detail
