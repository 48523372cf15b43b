// SPDX-License-Identifier: Apache-2.0
#include "https_get.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <optional>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

namespace prrun {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using prdist::concat;
using prdist::Errc;
using prdist::Error;
using prdist::Result;

constexpr auto waiting = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t most_body = 64 << 20;

class Exchange {
 public:
  Exchange(asio::io_context& io, ssl::context& tls, HttpsRequest const& request)
      : resolver_(io), stream_(io, tls), request_(request), name_(concat(request.host, ':', request.port)) {}

  std::optional<Result<HttpsAnswer>> answer;

  asio::awaitable<void> run() { answer = co_await talk(); }

 private:
  [[nodiscard]] Error failed(Errc code, std::string_view what, error_code const& error) const {
    return {code, "https: ", what, ' ', name_, " failed: ", error.message()};
  }

  asio::awaitable<Result<HttpsAnswer>> talk() {
    auto [unresolved, addresses] = co_await resolver_.async_resolve(request_.host, request_.port, waiting);
    if (unresolved) co_return failed(Errc::transport_unresolved, "looking up", unresolved);
    auto [refused, peer] = co_await beast::get_lowest_layer(stream_).async_connect(addresses, waiting);
    if (refused) co_return failed(Errc::transport_refused, "connecting to", refused);
    if (auto const error = co_await secure()) co_return *error;
    http::request<http::empty_body> message(http::verb::get, request_.target, 11);
    message.set(http::field::host, request_.host);
    message.set(http::field::user_agent, concat("prrun/", prdist::version));
    message.set(http::field::accept, "application/json");
    message.set(http::field::connection, "close");
    if (!request_.bearer.empty()) message.set(http::field::authorization, concat("Bearer ", request_.bearer));
    auto [unsent, sent] = co_await http::async_write(stream_, message, waiting);
    if (unsent) co_return failed(Errc::transport_closed, "writing to", unsent);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(most_body);
    auto [unread, read] = co_await http::async_read(stream_, buffer, parser, waiting);
    if (unread == http::error::body_limit) {
      co_return Error(Errc::wire_too_large, "https: the answer of ", name_, " has more than 64 MiB");
    }
    if (unread) co_return failed(Errc::transport_closed, "reading from", unread);
    auto& response = parser.get();
    co_return HttpsAnswer{static_cast<int>(response.result_int()), std::move(response.body())};
  }

  asio::awaitable<std::optional<Error>> secure() {
    error_code is_name;
    asio::ip::make_address(request_.host, is_name);
    // The name is for servers that have several certificates; an address is not allowed there.
    if (is_name) SSL_set_tlsext_host_name(stream_.native_handle(), request_.host.c_str());
    stream_.set_verify_callback(ssl::host_name_verification(request_.host));
    auto [error] = co_await stream_.async_handshake(ssl::stream_base::client, waiting);
    if (!error) co_return std::nullopt;
    if (auto const verdict = SSL_get_verify_result(stream_.native_handle()); verdict != X509_V_OK) {
      co_return Error(Errc::config_invalid, "https: the certificate of ", name_, " is not trusted, ",
                      X509_verify_cert_error_string(verdict), ": check '", request_.ca_file, "'");
    }
    co_return failed(Errc::transport_closed, "speaking TLS with", error);
  }

  asio::ip::tcp::resolver resolver_;
  beast::ssl_stream<beast::tcp_stream> stream_;
  HttpsRequest const& request_;
  std::string name_;
};

}  // namespace

Result<HttpsAnswer> https_get(HttpsRequest const& request) {
  ssl::context tls(ssl::context::tls_client);
  error_code error;
  tls.load_verify_file(request.ca_file, error);
  if (error) {
    return Error(Errc::config_invalid, "https: the certificates in '", request.ca_file, "' cannot be used, ",
                 error.message(), ": check the file");
  }
  tls.set_verify_mode(ssl::verify_peer);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  asio::io_context io(1);
  Exchange exchange(io, tls, request);
  asio::co_spawn(io, exchange.run(), asio::detached);
  io.run_for(request.patience);
  if (exchange.answer) return *exchange.answer;
  return Error(Errc::transport_no_answer, "https: ", request.host, ':', request.port, " has not answered within ",
               request.patience.count(), " ms");
}

}  // namespace prrun
