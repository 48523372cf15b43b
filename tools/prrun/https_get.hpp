// SPDX-License-Identifier: Apache-2.0
// One GET over HTTPS, the peer's certificate checked. Proxies of the environment are not looked at.
#pragma once

#include <chrono>
#include <string>

#include <prdist/core/error.hpp>

#include "http_answer.hpp"

namespace prrun {

struct HttpsRequest {
  std::string host;  ///< a name or an address; the certificate has to be its
  std::string port;
  std::string target;   ///< path and query
  std::string ca_file;  ///< certificates in PEM form that are trusted; nothing else is
  std::string bearer;   ///< token for the Authorization header; not sent when empty
  std::chrono::milliseconds patience{10'000};
};

/// Blocks for at most the patience. config.invalid for a certificate that is not trusted and for a CA file that
/// cannot be read, wire.too_large for a body over 64 MiB, wire.not_prdist for what is no HTTP, transport.* for what may
/// pass.
[[nodiscard]] prdist::Result<HttpAnswer> https_get(HttpsRequest const& request);

}  // namespace prrun
