// SPDX-License-Identifier: Apache-2.0
#include "cluster_needs.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include <prdist/core/text.hpp>

namespace prrun {

using namespace prdist;
using gen::Json;

namespace {

std::string text_at(Json const& object, char const* name) {
  auto const found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json const& child(Json const& object, char const* name) {
  static Json const nothing;
  auto const found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : nothing;
}

/// jobs.batch for Job of batch/v1. Every kind that prgen writes has a regular plural but one.
std::string resource_of(std::string const& kind, std::string const& group) {
  std::string plural;
  for (char const c : kind) plural += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  plural = plural.ends_with('y') ? plural.substr(0, plural.size() - 1) + "ies" : plural + "s";
  return group.empty() ? plural : concat(plural, '.', group);
}

class Collector {
 public:
  explicit Collector(ClusterNeeds& needs) : needs_(needs) {}

  /// Pod templates stand in different places of each kind; what has containers is one.
  void walk(Json const& node) {
    if (node.is_object() && child(node, "containers").is_array()) pod(node);
    if (node.is_object() || node.is_array()) {
      for (auto const& each : node) walk(each);
    }
  }

 private:
  void refer(std::string const& resource, Json const& holder, char const* field, char const* key = nullptr) {
    auto const name = text_at(holder, field);
    if (name.empty() || child(holder, "optional") == Json(true)) return;
    auto& all = needs_.references;
    auto found = std::ranges::find_if(
        all, [&](Reference const& each) { return each.resource == resource && each.name == name; });
    if (found == all.end()) found = all.insert(all.end(), Reference{resource, name});
    auto const wanted = key == nullptr ? std::string() : text_at(holder, key);
    if (!wanted.empty() && std::ranges::find(found->keys, wanted) == found->keys.end()) found->keys.push_back(wanted);
  }

  void pod(Json const& spec) {
    refer("serviceaccount", spec, "serviceAccountName");
    refer("priorityclass", spec, "priorityClassName");
    for (auto const& secret : child(spec, "imagePullSecrets")) refer("secret", secret, "name");
    for (auto const& volume : child(spec, "volumes")) {
      refer("persistentvolumeclaim", child(volume, "persistentVolumeClaim"), "claimName");
      refer("configmap", child(volume, "configMap"), "name");
      refer("secret", child(volume, "secret"), "secretName");
    }
    for (auto const* const list : {"initContainers", "containers"}) {
      for (auto const& container : child(spec, list)) {
        for (auto const& variable : child(container, "env")) {
          auto const& from = child(variable, "valueFrom");
          refer("secret", child(from, "secretKeyRef"), "name", "key");
          refer("configmap", child(from, "configMapKeyRef"), "name", "key");
        }
      }
    }
  }

  ClusterNeeds& needs_;
};

}  // namespace

ClusterNeeds needs_of(std::vector<Json> const& documents) {
  ClusterNeeds needs;
  Collector collector(needs);
  std::set<std::string> own;
  for (auto const& document : documents) {
    auto const kind = text_at(document, "kind");
    auto const version = text_at(document, "apiVersion");
    auto const slash = version.find('/');
    auto const group = slash == std::string::npos ? std::string() : version.substr(0, slash);
    auto const name = text_at(child(document, "metadata"), "name");
    needs.objects.push_back(concat(kind, ' ', name, " (", version, ')'));
    auto resource = resource_of(kind, group);
    own.insert(concat(resource.substr(0, resource.find('.')), '/', name));
    if (std::ranges::find(needs.resources, resource) == needs.resources.end()) {
      // Groups of Kubernetes itself end so, or have no dot at all.
      bool const builtin = group.find('.') == std::string::npos || group.ends_with(".k8s.io");
      if (!builtin) needs.foreign.push_back({group, resource});
      needs.resources.push_back(std::move(resource));
    }
    auto const& spec = child(document, "spec");
    for (auto const* const policy :
         {&spec, &child(spec, "schedulingPolicy"), &child(child(spec, "runPolicy"), "schedulingPolicy")}) {
      if (auto queue = text_at(*policy, "queue"); !queue.empty()) needs.queue = std::move(queue);
    }
    collector.walk(spec);
    if (auto const job_class = text_at(spec, "priorityClassName"); !job_class.empty()) {
      collector.walk(Json{{"containers", Json::array()}, {"priorityClassName", job_class}});
    }
  }
  std::erase_if(needs.references, [&](Reference const& each) {
    // Every namespace has an account of this name.
    if (each.resource == "serviceaccount" && each.name == "default") return true;
    return own.contains(concat(each.resource, "s/", each.name));
  });
  return needs;
}

}  // namespace prrun
