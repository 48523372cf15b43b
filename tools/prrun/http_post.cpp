// SPDX-License-Identifier: Apache-2.0
#include "http_post.hpp"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <cstring>
#include <utility>

#include <prdist/launch/rendezvous/address.hpp>

#include "http_exchange.hpp"

namespace prrun {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using prdist::Errc;
using prdist::Error;
using prdist::Result;

namespace {

HttpTalk post(beast::tcp_stream& stream, asio::ip::tcp::endpoint address, http::request<http::string_body>& message,
              HttpPeer const& peer) {
  auto [unreachable] = co_await stream.async_connect(address, waiting);
  if (unreachable) co_return peer.failed("connecting to", unreachable);
  co_return co_await exchange(stream, message, peer);
}

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
  HttpPeer const named{"http", to_string(peer)};
  http::request<http::string_body> message(http::verb::post, target, 11);
  message.set(http::field::host, named.name);
  message.set(http::field::content_type, "application/json");
  message.body() = body;
  message.prepare_payload();
  asio::io_context io(1);
  beast::tcp_stream stream(io);
  stream.socket().assign(endpoint.protocol(), socket);
  return run_talk(io, post(stream, endpoint, message, named), named, patience);
}

}  // namespace prrun
