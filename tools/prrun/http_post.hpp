// SPDX-License-Identifier: Apache-2.0
// One POST of JSON over HTTP. Proxies of the environment are not looked at.
#pragma once

#include <chrono>
#include <string>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>

#include "http_answer.hpp"

namespace prrun {

/// Blocks for at most the patience, besides what the name service takes. transport.* for what may pass,
/// wire.too_large for a body over 64 MiB, wire.not_prdist for a peer that does not speak HTTP.
[[nodiscard]] prdist::Result<HttpAnswer> http_post(prdist::Endpoint const& peer, std::string const& target,
                                                   std::string const& body, std::chrono::milliseconds patience);

}  // namespace prrun
