// SPDX-License-Identifier: Apache-2.0
#include "http_post.hpp"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/address.hpp>
#include <prdist/version.hpp>

namespace prrun {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using prdist::concat;
using prdist::Errc;
using prdist::Error;
using prdist::Result;

constexpr auto waiting = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t most_body = 64 << 20;

class Exchange {
 public:
  Exchange(asio::io_context& io, prdist::Endpoint const& peer) : stream_(io), name_(to_string(peer)) {}

  std::optional<Result<HttpAnswer>> answer;

  void take(asio::ip::tcp const& protocol, int socket) { stream_.socket().assign(protocol, socket); }

  asio::awaitable<void> run(asio::ip::tcp::endpoint address, std::string target, std::string body) {
    answer = co_await talk(std::move(address), std::move(target), std::move(body));
  }

 private:
  [[nodiscard]] Error failed(std::string_view what, error_code const& error) const {
    auto const code = error == asio::error::connection_refused ? Errc::transport_refused : Errc::transport_closed;
    return {code, "http: ", what, ' ', name_, " failed: ", error.message()};
  }

  asio::awaitable<Result<HttpAnswer>> talk(asio::ip::tcp::endpoint address, std::string target, std::string body) {
    auto [unreachable] = co_await stream_.async_connect(address, waiting);
    if (unreachable) co_return failed("connecting to", unreachable);
    http::request<http::string_body> message(http::verb::post, target, 11);
    message.set(http::field::host, name_);
    message.set(http::field::user_agent, concat("prrun/", prdist::version));
    message.set(http::field::content_type, "application/json");
    message.set(http::field::connection, "close");
    message.body() = std::move(body);
    message.prepare_payload();
    auto [unsent, sent] = co_await http::async_write(stream_, message, waiting);
    if (unsent) co_return failed("writing to", unsent);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(most_body);
    auto [unread, read] = co_await http::async_read(stream_, buffer, parser, waiting);
    if (unread == http::error::body_limit) {
      co_return Error(Errc::wire_too_large, "http: the answer of ", name_, " has more than 64 MiB");
    }
    if (unread == http::error::bad_version || unread == http::error::bad_method) {
      co_return Error(Errc::wire_not_prdist, "http: ", name_, " answers, but not as HTTP");
    }
    if (unread) co_return failed("reading from", unread);
    auto& response = parser.get();
    co_return HttpAnswer{static_cast<int>(response.result_int()), std::move(response.body())};
  }

  beast::tcp_stream stream_;
  std::string name_;
};

}  // namespace

Result<HttpAnswer> http_post(prdist::Endpoint const& peer, std::string const& target, std::string const& body,
                             std::chrono::milliseconds patience) {
  auto const address = prdist::resolve(peer);
  if (!address) return address.error();
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(address->size);
  std::memcpy(endpoint.data(), address->get(), address->size);
  // Of our own making: one from Asio would be inherited by a process that another thread starts now.
  int const socket = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return Error(Errc::transport_failed, "http: no socket, are all in use (ulimit -n)?");
  asio::io_context io(1);
  Exchange exchange(io, peer);
  exchange.take(endpoint.protocol(), socket);
  asio::co_spawn(io, exchange.run(endpoint, target, body), asio::detached);
  io.run_for(patience);
  if (exchange.answer) return *exchange.answer;
  return Error(Errc::transport_no_answer, "http: ", to_string(peer), " has not answered within ", patience.count(),
               " ms");
}

}  // namespace prrun
