// SPDX-License-Identifier: Apache-2.0
#include "https_get.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <optional>

#include <prdist/core/text.hpp>

#include "http_exchange.hpp"

namespace prrun {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using prdist::concat;
using prdist::Errc;
using prdist::Error;
using prdist::Result;

namespace {

using Stream = beast::ssl_stream<beast::tcp_stream>;

asio::awaitable<std::optional<Error>> secure(Stream& stream, HttpsRequest const& request, HttpPeer const& peer) {
  error_code is_name;
  asio::ip::make_address(request.host, is_name);
  // The name is for servers that have several certificates; an address is not allowed there.
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), request.host.c_str());
  stream.set_verify_callback(ssl::host_name_verification(request.host));
  auto [error] = co_await stream.async_handshake(ssl::stream_base::client, waiting);
  if (!error) co_return std::nullopt;
  if (auto const verdict = SSL_get_verify_result(stream.native_handle()); verdict != X509_V_OK) {
    co_return Error(Errc::config_invalid, "https: the certificate of ", peer.name, " is not trusted, ",
                    X509_verify_cert_error_string(verdict), ": check '", request.ca_file, "'");
  }
  co_return peer.failed(Errc::transport_closed, "speaking TLS with", error);
}

HttpTalk get(asio::ip::tcp::resolver& resolver, Stream& stream, HttpsRequest const& request, HttpPeer const& peer) {
  auto [unresolved, addresses] = co_await resolver.async_resolve(request.host, request.port, waiting);
  if (unresolved) co_return peer.failed(Errc::transport_unresolved, "looking up", unresolved);
  auto [refused, address] = co_await beast::get_lowest_layer(stream).async_connect(addresses, waiting);
  if (refused) co_return peer.failed(Errc::transport_refused, "connecting to", refused);
  if (auto const error = co_await secure(stream, request, peer)) co_return *error;
  http::request<http::empty_body> message(http::verb::get, request.target, 11);
  message.set(http::field::host, request.host);
  message.set(http::field::accept, "application/json");
  if (!request.bearer.empty()) message.set(http::field::authorization, concat("Bearer ", request.bearer));
  co_return co_await exchange(stream, message, peer);
}

}  // namespace

Result<HttpAnswer> https_get(HttpsRequest const& request) {
  ssl::context tls(ssl::context::tls_client);
  error_code error;
  tls.load_verify_file(request.ca_file, error);
  if (error) {
    return Error(Errc::config_invalid, "https: the certificates in '", request.ca_file, "' cannot be used, ",
                 error.message(), ": check the file");
  }
  tls.set_verify_mode(ssl::verify_peer);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  HttpPeer const peer{"https", concat(request.host, ':', request.port)};
  asio::io_context io(1);
  asio::ip::tcp::resolver resolver(io);
  Stream stream(io, tls);
  return run_talk(io, get(resolver, stream, request, peer), peer, request.patience);
}

}  // namespace prrun
