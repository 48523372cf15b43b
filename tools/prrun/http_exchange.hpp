// SPDX-License-Identifier: Apache-2.0
// One request and its answer over a stream that is connected, with or without TLS, and the time that all of it may
// take.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

#include "http_answer.hpp"

namespace prrun {

inline constexpr auto waiting = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Who is spoken to, as messages name it: "https", "10.0.0.1:6443".
struct HttpPeer {
  std::string scheme;
  std::string name;

  [[nodiscard]] prdist::Error failed(std::string_view what, boost::system::error_code const& error) const {
    bool const refused = error == boost::asio::error::connection_refused;
    return failed(refused ? prdist::Errc::transport_refused : prdist::Errc::transport_closed, what, error);
  }
  [[nodiscard]] prdist::Error failed(prdist::Errc code, std::string_view what,
                                     boost::system::error_code const& error) const {
    return {code, scheme, ": ", what, ' ', name, " failed: ", error.message()};
  }
};

using HttpTalk = boost::asio::awaitable<prdist::Result<HttpAnswer>>;

/// Sends the message and reads the answer. The stream serves once: nobody keeps a connection for the next one.
template <class Stream, class Body>
HttpTalk exchange(Stream& stream, boost::beast::http::request<Body>& message, HttpPeer const& peer) {
  namespace http = boost::beast::http;
  using prdist::Errc;
  using prdist::Error;
  constexpr std::uint64_t most_body = 64 << 20;
  message.set(http::field::user_agent, prdist::concat("prrun/", prdist::version));
  message.set(http::field::connection, "close");
  auto [unsent, sent] = co_await http::async_write(stream, message, waiting);
  if (unsent) co_return peer.failed("writing to", unsent);
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
