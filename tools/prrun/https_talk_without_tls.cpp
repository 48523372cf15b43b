// SPDX-License-Identifier: Apache-2.0
// In place of https_talk.cpp where OpenSSL was not there to build with.
#include "https_talk.hpp"

namespace prrun {

prdist::Result<HttpAnswer> https_talk(HttpRequest const& request, Addresses const&, HttpMessage&) {
  return prdist::Error(prdist::Errc::config_invalid, "https: this prrun was built without OpenSSL and cannot ask ",
                       to_string(request.peer), ": build it with libssl-dev, or do without TLS ",
                       "(etcd:// masters, manifests with discovery: dns)");
}

}  // namespace prrun
