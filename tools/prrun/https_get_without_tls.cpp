// SPDX-License-Identifier: Apache-2.0
// In place of https_get.cpp where OpenSSL was not there to build with.
#include "https_get.hpp"

namespace prrun {

prdist::Result<HttpAnswer> https_get(HttpsRequest const&) {
  return prdist::Error(prdist::Errc::config_invalid,
                       "https: this prrun was built without OpenSSL and cannot list pods: ",
                       "build it with libssl-dev, or render the manifest with discovery: dns");
}

}  // namespace prrun
