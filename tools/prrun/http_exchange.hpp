// SPDX-License-Identifier: Apache-2.0
// One request and its answer over a stream, with or without TLS, and the time that all of it may take.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
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
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/address.hpp>
#include <prdist/version.hpp>

#include "http_answer.hpp"

namespace prrun {

inline constexpr auto waiting = boost::asio::as_tuple(boost::asio::use_awaitable);

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;
using Addresses = std::vector<prdist::SocketAddress>;

/// Who is spoken to, as messages name it: "https", "10.0.0.1:6443".
struct HttpPeer {
  std::string scheme;
  std::string name;
  /// A better sentence than the general one, where there is one for this failure.
  std::function<std::optional<prdist::Error>(boost::system::error_code const&)> explain{};

  [[nodiscard]] prdist::Error failed(std::string_view what, boost::system::error_code const& error) const {
    bool const refused = error == boost::asio::error::connection_refused;
    return failed(refused ? prdist::Errc::transport_refused : prdist::Errc::transport_closed, what, error);
  }
  [[nodiscard]] prdist::Error failed(prdist::Errc code, std::string_view what,
                                     boost::system::error_code const& error) const {
    if (auto explained = explain ? explain(error) : std::nullopt) return std::move(*explained);
    return {code, scheme, ": ", what, ' ', name, " failed: ", error.message()};
  }
};

using HttpTalk = boost::asio::awaitable<prdist::Result<HttpAnswer>>;

/// Connects to the first of the addresses that answers.
[[nodiscard]] inline boost::asio::awaitable<std::optional<prdist::Error>> connect(boost::beast::tcp_stream& stream,
                                                                                  Addresses const& addresses,
                                                                                  HttpPeer const& peer) {
  boost::system::error_code unreachable;
  for (auto const& address : addresses) {
    boost::asio::ip::tcp::endpoint endpoint;
    endpoint.resize(address.size);
    std::memcpy(endpoint.data(), address.get(), address.size);
    // Of our own making: one from Asio would be inherited by a process that another thread starts now.
    int const socket = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      co_return prdist::Error(prdist::Errc::transport_failed, peer.scheme, ": no socket, are all in use (ulimit -n)?");
    }
    stream.socket().assign(endpoint.protocol(), socket, unreachable);
    if (unreachable) {
      ::close(socket);
      break;
    }
    auto [error] = co_await stream.async_connect(endpoint, waiting);
    if (!error) co_return std::nullopt;
    unreachable = error;
    stream.close();
  }
  co_return peer.failed("connecting to", unreachable);
}

/// Sends the message and reads the answer. The stream serves once: nobody keeps a connection for the next one.
template <class Stream>
HttpTalk exchange(Stream& stream, HttpMessage& message, HttpPeer const& peer) {
  namespace http = boost::beast::http;
  using prdist::Errc;
  using prdist::Error;
  constexpr std::uint64_t most_body = 64 << 20;
  message.set(http::field::user_agent, prdist::concat("prrun/", prdist::version));
  message.set(http::field::connection, "close");
  auto [unsent, sent] = co_await http::async_write(stream, message, waiting);
  // Who closes before it has read all may have said why, so its words are read all the same.
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(most_body);
  auto [unread, read] = co_await http::async_read(stream, buffer, parser, waiting);
  if (unread == http::error::body_limit) {
    co_return Error(Errc::wire_too_large, peer.scheme, ": the answer of ", peer.name, " has more than 64 MiB");
  }
  if (unread == http::error::bad_version || unread == http::error::bad_method) {
    co_return Error(Errc::wire_not_prdist, peer.scheme, ": ", peer.name, " answers, but not as HTTP");
  }
  bool const told_why = unread && peer.explain && peer.explain(unread);
  if (unread && unsent && !told_why) co_return peer.failed("writing to", unsent);
  if (unread) co_return peer.failed("reading from", unread);
  auto& response = parser.get();
  co_return HttpAnswer{static_cast<int>(response.result_int()), std::move(response.body())};
}

namespace detail {

inline boost::asio::awaitable<void> keep(HttpTalk talk, std::optional<prdist::Result<HttpAnswer>>& answer) {
  answer = co_await std::move(talk);
}

}  // namespace detail

/// Blocks until the talk has ended, or the patience.
[[nodiscard]] inline prdist::Result<HttpAnswer> run_talk(boost::asio::io_context& io, HttpTalk talk,
                                                         HttpPeer const& peer, std::chrono::milliseconds patience) {
  std::optional<prdist::Result<HttpAnswer>> answer;
  boost::asio::co_spawn(io, detail::keep(std::move(talk), answer), boost::asio::detached);
  io.run_for(patience);
  if (answer) return *answer;
  return prdist::Error(prdist::Errc::transport_no_answer, peer.scheme, ": ", peer.name, " has not answered within ",
                       patience.count(), " ms");
}

}  // namespace prrun
