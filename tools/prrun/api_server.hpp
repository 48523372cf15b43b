// SPDX-License-Identifier: Apache-2.0
// The apiserver of the cluster that a pod runs in, by its service account.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/k8s/pods.hpp>

namespace prrun {

struct ApiServer {
  std::string host;
  std::string port;
  std::string name_space;
  std::filesystem::path account;  ///< folder with token and ca.crt; read anew for each request, as tokens are renewed
  std::chrono::milliseconds patience{10'000};
};

/// From KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT_HTTPS and JOB_NAMESPACE or the account's own namespace. The
/// account's folder is PRDIST_SERVICE_ACCOUNT or the one that Kubernetes mounts. @throws Error config.missing
[[nodiscard]] ApiServer api_server_from_env(prdist::Environment const& environment);

/// GET of the pods with these labels. config.* for what waiting does not mend, with the way out; transport.* else.
[[nodiscard]] prdist::Result<std::vector<prdist::Pod>> list_pods(ApiServer const& server, std::string const& selector);

}  // namespace prrun
