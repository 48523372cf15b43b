// SPDX-License-Identifier: Apache-2.0
#include "http_request.hpp"

#include <boost/beast/core/tcp_stream.hpp>

#include <prdist/launch/rendezvous/address.hpp>

#include "http_exchange.hpp"
#include "https_talk.hpp"

namespace prrun {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using prdist::concat;
using prdist::Result;

namespace {

HttpMessage message_of(HttpRequest const& request) {
  HttpMessage message(request.json ? http::verb::post : http::verb::get, request.target, 11);
  message.set(http::field::host, to_string(request.peer));
  message.set(http::field::accept, "application/json");
  if (!request.bearer.empty()) message.set(http::field::authorization, concat("Bearer ", request.bearer));
  if (request.json) {
    message.set(http::field::content_type, "application/json");
    message.body() = *request.json;
    message.prepare_payload();
  }
  return message;
}

HttpTalk talk(beast::tcp_stream& stream, Addresses const& addresses, HttpMessage& message, HttpPeer const& peer) {
  if (auto const error = co_await connect(stream, addresses, peer)) co_return *error;
  co_return co_await exchange(stream, message, peer);
}

}  // namespace

Result<HttpAnswer> http_request(HttpRequest const& request) {
  auto const addresses = prdist::resolve_all(request.peer);
  if (!addresses) return addresses.error();
  auto message = message_of(request);
  if (request.tls) return https_talk(request, *addresses, message);
  HttpPeer const peer{"http", to_string(request.peer)};
  asio::io_context io(1);
  beast::tcp_stream stream(io);
  return run_talk(io, talk(stream, *addresses, message, peer), peer, request.patience);
}

}  // namespace prrun
