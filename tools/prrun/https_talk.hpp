// SPDX-License-Identifier: Apache-2.0
// The part of http_request() that needs OpenSSL: built with it, or as a refusal.
#pragma once

#include <prdist/core/error.hpp>

#include "http_exchange.hpp"
#include "http_request.hpp"

namespace prrun {

/// As http_request(), over TLS to one of the addresses.
[[nodiscard]] prdist::Result<HttpAnswer> https_talk(HttpRequest const& request, Addresses const& addresses,
                                                    HttpMessage& message);

}  // namespace prrun
