// SPDX-License-Identifier: Apache-2.0
#include "api_server.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

#include <prdist/core/text.hpp>
#include <prdist/launch/k8s/pods_json.hpp>

#include "http_request.hpp"

namespace prrun {

using namespace prdist;

namespace {

constexpr std::string_view mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A small file without the white space around it; empty when it cannot be read.
std::string contents(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  auto const blank = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && blank(static_cast<unsigned char>(text.back()))) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, blank));
  return text;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_') {
      encoded += c;
    } else {
      constexpr char digits[] = "0123456789ABCDEF";
      encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return encoded;
}

/// What the apiserver says when it refuses, cut to a sentence's length.
std::string said(HttpAnswer const& answer) {
  auto text = status_message(answer.body);
  if (text.size() > 400) text = text.substr(0, 400) + "...";
  return text.empty() ? text : concat(" and says: ", text);
}

Error refused(ApiServer const& server, HttpAnswer const& answer) {
  auto const where = concat("k8s: the apiserver at ", server.host, ':', server.port, " answers ", answer.status);
  switch (answer.status) {
    case 401:
      return {Errc::config_invalid,
              where,
              " to the token in '",
              (server.account / "token").string(),
              "'",
              said(answer),
              ": it has expired or is another cluster's; let Kubernetes mount the service account anew"};
    case 403:
      return {Errc::config_invalid,
              where,
              said(answer),
              ": the service account needs a Role with the verb list on pods ",
              "in namespace ",
              server.name_space,
              "; prgen writes one with discovery: pods"};
    case 404: return {Errc::config_invalid, where, said(answer), ": check JOB_NAMESPACE='", server.name_space, "'"};
    default: break;
  }
  // Overload and restarts pass; what else it refuses, it refuses again.
  bool const passes = answer.status >= 500 || answer.status == 429;
  return {passes ? Errc::transport_failed : Errc::config_invalid, where, said(answer)};
}

}  // namespace

ApiServer api_server_from_env(Environment const& environment) {
  ApiServer server;
  server.account = environment("PRDIST_SERVICE_ACCOUNT").value_or(std::string(mounted));
  server.host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  server.port =
      environment("KUBERNETES_SERVICE_PORT_HTTPS").value_or(environment("KUBERNETES_SERVICE_PORT").value_or("443"));
  if (server.host.empty()) {
    throw Error(Errc::config_missing, "k8s: pods have to be listed, but KUBERNETES_SERVICE_HOST is not set",
                ": this is no pod; set PADDLE_PSERVERS_IP_PORT_LIST and the ids, as docs/launch_contract.md shows");
  }
  for (auto const* const name : {"JOB_NAMESPACE", "NAMESPACE", "POD_NAMESPACE"}) {
    if (server.name_space.empty()) server.name_space = environment(name).value_or("");
  }
  if (server.name_space.empty()) server.name_space = contents(server.account / "namespace");
  auto const plain = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-'; };
  if (server.name_space.empty() || !std::ranges::all_of(server.name_space, plain)) {
    throw Error(Errc::config_invalid, "k8s: JOB_NAMESPACE='", server.name_space,
                "': a namespace of lower case letters, digits and '-' is expected");
  }
  return server;
}

Result<std::vector<Pod>> list_pods(ApiServer const& server, std::string const& selector) {
  HttpRequest request;
  request.peer.host = server.host;
  request.patience = server.patience;
  request.tls = TlsFiles{(server.account / "ca.crt").string(), {}, {}};
  request.bearer = contents(server.account / "token");
  request.target = concat("/api/v1/namespaces/", server.name_space, "/pods?labelSelector=", percent_encoded(selector));
  auto const is_header_text = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
  if (request.bearer.empty() || !std::ranges::all_of(request.bearer, is_header_text)) {
    return Error(Errc::config_missing, "k8s: '", (server.account / "token").string(), "' holds no token",
                 ": the pod needs automountServiceAccountToken: true");
  }
  if (!parse_number(server.port, request.peer.port) || request.peer.port == 0) {
    return Error(Errc::config_invalid, "k8s: KUBERNETES_SERVICE_PORT='", server.port, "' is no port");
  }
  auto const answer = http_request(request);
  if (!answer) return answer.error();
  if (answer->status != 200) return refused(server, *answer);
  return parse_pods(answer->body);
}

}  // namespace prrun
