// SPDX-License-Identifier: Apache-2.0
// One request over HTTP, or over HTTPS with the peer's certificate checked. Proxies of the environment are not looked
// at.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>

#include "http_answer.hpp"

namespace prrun {

/// Files in PEM form, read anew for each request, as certificates are renewed.
struct TlsFiles {
  std::string ca;           ///< authorities that are trusted, and nobody else; those of the system when empty
  std::string certificate;  ///< this client's, for a peer that asks for one
  std::string key;          ///< to it
};

struct HttpRequest {
  prdist::Endpoint peer{};            ///< the host a name or an address; over HTTPS the certificate has to be its
  std::string target{};               ///< path and query
  std::optional<std::string> json{};  ///< what is posted; without it, it is a GET
  std::string bearer{};               ///< token for the Authorization header; not sent when empty
  std::optional<TlsFiles> tls{};      ///< HTTPS when there
  std::chrono::milliseconds patience{10'000};
};

/// Blocks for at most the patience, besides what the name service takes. transport.* for what may pass, wire.too_large
/// for a body over 64 MiB, wire.not_prdist for a peer that does not speak HTTP or TLS, config.invalid for certificates
/// that one of both does not trust and for files that cannot be used.
[[nodiscard]] prdist::Result<HttpAnswer> http_request(HttpRequest const& request);

}  // namespace prrun
