// SPDX-License-Identifier: Apache-2.0
#include "https_talk.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <optional>

#include <prdist/core/text.hpp>

namespace prrun {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using prdist::concat;
using prdist::Errc;
using prdist::Error;
using prdist::Result;

namespace {

using Stream = beast::ssl_stream<beast::tcp_stream>;

/// Whether the peer has said that it does not like this client's certificate, or that there was none.
bool is_refusal(error_code const& error) {
  if (error.category() != asio::error::get_ssl_category()) return false;
  auto const alert = ERR_GET_REASON(static_cast<unsigned long>(error.value())) - SSL_AD_REASON_OFFSET;
  return (alert >= SSL_AD_HANDSHAKE_FAILURE && alert <= SSL_AD_ACCESS_DENIED) || alert == SSL_AD_CERTIFICATE_REQUIRED;
}

bool is_no_tls(error_code const& error) {
  if (error.category() != asio::error::get_ssl_category()) return false;
  auto const reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST;
}

/// With the failures that only TLS has.
HttpPeer peer_of(HttpRequest const& request) {
  HttpPeer peer{"https", to_string(request.peer)};
  auto const shown = request.tls->certificate;
  peer.explain = [name = peer.name, shown](error_code const& error) -> std::optional<Error> {
    if (is_refusal(error)) {
      return Error(Errc::config_invalid, "https: ", name, " refuses this client, ", error.message(), ": ",
                   shown.empty() ? "it may want a certificate" : concat("check '", shown, "'"));
    }
    if (is_no_tls(error)) return Error(Errc::wire_not_prdist, "https: ", name, " answers, but not with TLS");
    return std::nullopt;
  };
  return peer;
}

/// Loads one file, or says why not.
template <class Load>
std::optional<Error> load(std::string_view what, std::string const& file, Load&& loaded) {
  error_code error;
  loaded(error);
  if (!error) return std::nullopt;
  return Error(Errc::config_invalid, "https: ", what, " in '", file, "' cannot be used, ", error.message(),
               ": check the file");
}

std::optional<Error> prepare(ssl::context& tls, TlsFiles const& files) {
  tls.set_verify_mode(ssl::verify_peer);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  // A key with a passphrase is an error, and not a question on the terminal.
  tls.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); });
  std::optional<Error> wrong;
  if (files.ca.empty()) {
    error_code error;
    tls.set_default_verify_paths(error);
  } else {
    wrong = load("the certificates", files.ca, [&](auto& error) { tls.load_verify_file(files.ca, error); });
  }
  if (wrong || files.certificate.empty()) return wrong;
  wrong = load("the certificate", files.certificate,
               [&](auto& error) { tls.use_certificate_chain_file(files.certificate, error); });
  if (wrong) return wrong;
  return load("the key", files.key,
              [&](auto& error) { tls.use_private_key_file(files.key, ssl::context::pem, error); });
}

asio::awaitable<std::optional<Error>> secure(Stream& stream, HttpRequest const& request, HttpPeer const& peer) {
  auto const& host = request.peer.host;
  error_code is_name;
  asio::ip::make_address(host, is_name);
  // The name is for servers that have several certificates; an address is not allowed there.
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  stream.set_verify_callback(ssl::host_name_verification(host));
  auto [error] = co_await stream.async_handshake(ssl::stream_base::client, waiting);
  if (!error) co_return std::nullopt;
  if (auto const verdict = SSL_get_verify_result(stream.native_handle()); verdict != X509_V_OK) {
    auto const& ca = request.tls->ca;
    co_return Error(Errc::config_invalid, "https: the certificate of ", peer.name, " is not trusted, ",
                    X509_verify_cert_error_string(verdict), ": check ",
                    ca.empty() ? std::string("the system's authorities") : concat("'", ca, "'"));
  }
  co_return peer.failed(Errc::transport_closed, "speaking TLS with", error);
}

HttpTalk talk(Stream& stream, HttpRequest const& request, Addresses const& addresses, HttpMessage& message,
              HttpPeer const& peer) {
  if (auto const error = co_await connect(beast::get_lowest_layer(stream), addresses, peer)) co_return *error;
  if (auto const error = co_await secure(stream, request, peer)) co_return *error;
  co_return co_await exchange(stream, message, peer);
}

}  // namespace

Result<HttpAnswer> https_talk(HttpRequest const& request, Addresses const& addresses, HttpMessage& message) {
  ssl::context tls(ssl::context::tls_client);
  if (auto const error = prepare(tls, *request.tls)) return *error;
  auto const peer = peer_of(request);
  asio::io_context io(1);
  Stream stream(io, tls);
  return run_talk(io, talk(stream, request, addresses, message, peer), peer, request.patience);
}

}  // namespace prrun
