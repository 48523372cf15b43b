// SPDX-License-Identifier: Apache-2.0
#include "preflight.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>
#include <string_view>

#include <prdist/launch/k8s/pods_json.hpp>

namespace prrun {

using namespace prdist;

namespace {

bool has_line(std::string_view text, std::string_view wanted) {
  while (!text.empty()) {
    auto const line = text.substr(0, text.find('\n'));
    if (line == wanted) return true;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

/// Lines as a sentence has them: a, b and c.
std::string enumerated(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    auto const line = text.substr(0, text.find('\n'));
    if (!line.empty()) all += concat(all.empty() ? "" : ", ", line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return all;
}

std::string operator_of(std::string const& group) {
  if (group == "batch.volcano.sh") {
    return "Volcano is not installed: have its release's volcano-development.yaml applied, or its Helm chart";
  }
  if (group == "batch.paddlepaddle.org") {
    return "paddle-operator is not installed: have its crd.yaml and operator.yaml applied";
  }
  return "Kubeflow's training operator is not installed: have its standalone overlay applied (kubectl apply -k)";
}

Finding judge_api(Look const& look, CommandResult const& result) {
  if (has_line(result.out, look.what)) return {Found::yes, look.what};
  auto const group = look.what.substr(look.what.find('.') + 1);
  return {Found::no, concat("the cluster does not know ", look.what, ", ", operator_of(group),
                            ", or run the same file on plain Kubernetes with --backend k8s")};
}

Finding judge_queue(Look const& look, CommandResult const& result) {
  boost::system::error_code error;
  auto const value = boost::json::parse(result.out, error);
  auto const* const root = error ? nullptr : value.if_object();
  if (root == nullptr) return {Found::unknown, concat("kubectl's list of queues could not be read (", look.what, ')')};
  std::string others;
  std::string state;
  bool found = false;
  detail::each_object_at(*root, "items", [&](auto const& item) {
    auto const* const metadata = detail::object_at(item, "metadata");
    auto const* const status = detail::object_at(item, "status");
    auto const name = metadata == nullptr ? std::string() : detail::text_at(*metadata, "name");
    if (name == look.what) {
      found = true;
      state = status == nullptr ? std::string() : detail::text_at(*status, "state");
    } else {
      others += concat(others.empty() ? "" : ", ", name);
    }
  });
  if (!found) {
    auto const instead = others.empty() ? std::string("have it made, or name another") : "take one of " + others;
    return {Found::no, concat("there is no queue '", look.what, "': ", instead, " with --set submit.queue=NAME")};
  }
  if (state == "Open") return {Found::yes, concat(look.what, " is Open")};
  if (state.empty()) return {Found::unknown, concat(look.what, " is there; Volcano has not said yet that it is Open")};
  return {Found::no, concat("queue '", look.what, "' is ", state,
                            ", and starts nothing: have it opened (vcctl queue "
                            "operate -n ",
                            look.what, " -a open), or take another with --set submit.queue=NAME")};
}

/// How a thing comes into being, and which key names another.
std::string way_out(Reference const& reference) {
  auto const& name = reference.name;
  if (reference.resource == "secret") {
    return concat("make it (kubectl create secret generic ", name,
                  " --from-file=KEY=FILE, or docker-registry for images), or correct submit.secrets, "
                  "image_pull_secrets or volumes");
  }
  if (reference.resource == "configmap") {
    return concat("make it (kubectl create configmap ", name, " --from-file=FILE), or correct submit.volumes");
  }
  if (reference.resource == "persistentvolumeclaim") {
    return "make it (kubectl apply of a PersistentVolumeClaim), or correct submit.volumes";
  }
  if (reference.resource == "serviceaccount") {
    return concat("make it (kubectl create serviceaccount ", name,
                  "), or leave submit.service_account out for one of the job's own");
  }
  return "kubectl get priorityclass lists them: correct submit.priority_class, or leave it out";
}

Finding judge_object(Look const& look, CommandResult const& result, std::string const& name_space) {
  auto const& reference = look.reference;
  if (refusal_of(result) == Refusal::not_found) {
    bool const everywhere = reference.resource == "priorityclass";
    return {Found::no,
            concat("there is no ", reference.resource, " '", reference.name, "'", everywhere ? "" : " in namespace ",
                   everywhere ? "" : name_space, ": ", way_out(reference))};
  }
  for (auto const& key : reference.keys) {
    if (has_line(result.out, key)) continue;
    return {Found::no, concat(reference.resource, " '", reference.name, "' has no key '", key, "', it has ",
                              result.out.empty() ? "none" : enumerated(result.out),
                              ": add it, or correct the key in submit.secrets")};
  }
  return {Found::yes, concat(reference.resource, '/', reference.name)};
}

}  // namespace

std::vector<std::vector<Look>> looks_for(ClusterNeeds const& needs, std::string const& name_space) {
  std::vector<Look> basis;
  basis.push_back({Topic::name_space, name_space, {"get", "namespace", name_space, "--output=name"}});
  for (auto const& kind : needs.foreign) {
    basis.push_back({Topic::api, kind.resource, {"api-resources", "--api-group=" + kind.group, "--output=name"}});
  }
  std::vector<Look> within_it;
  if (!needs.queue.empty()) {
    within_it.push_back({Topic::queue, needs.queue, {"get", "queues.scheduling.volcano.sh", "--output=json"}});
  }
  for (auto const& reference : needs.references) {
    // The names of the keys alone: a secret's values are none of our business.
    bool const keys = !reference.keys.empty();
    within_it.push_back(
        {Topic::object,
         concat(reference.resource, '/', reference.name),
         {"get", reference.resource, reference.name,
          keys ? R"(--output=go-template={{range $key, $value := .data}}{{$key}}{{"\n"}}{{end}})" : "--output=name"},
         false,
         reference});
  }
  for (auto const& resource : needs.resources) {
    within_it.push_back({Topic::right, resource, {"auth", "can-i", "create", resource}});
  }
  std::vector<Look> twin;
  twin.push_back({Topic::twin, {}, {"get", "--filename=-", "--ignore-not-found", "--output=name"}, true});
  std::vector<Look> trial;
  trial.push_back({Topic::trial, {}, {"create", "--dry-run=server", "--filename=-", "--output=name"}, true});
  return {basis, within_it, twin, trial};
}

Finding judge(Look const& look, CommandResult const& result, std::string const& name_space, std::string const& job) {
  auto const refusal = refusal_of(result);
  auto const command = typed("kubectl", look.words);
  if (refusal == Refusal::unreachable) throw refused(command, result);
  if (refusal == Refusal::forbidden && look.topic != Topic::trial) {
    return {Found::unknown, concat("you may not look at ", look.what.empty() ? "objects of that name" : look.what)};
  }
  switch (look.topic) {
    case Topic::name_space:
      if (refusal == Refusal::none) return {Found::yes, name_space};
      if (refusal == Refusal::not_found) {
        return {Found::no, concat("there is no namespace '", name_space, "': make it (kubectl create namespace ",
                                  name_space, "), or name another with -n")};
      }
      break;
    case Topic::api:
      if (refusal == Refusal::none || !result.out.empty() || result.errors.empty()) return judge_api(look, result);
      break;
    case Topic::queue:
      if (refusal == Refusal::none) return judge_queue(look, result);
      break;
    case Topic::object:
      if (refusal == Refusal::none || refusal == Refusal::not_found) return judge_object(look, result, name_space);
      break;
    case Topic::right:
      if (refusal == Refusal::none) return {Found::yes, concat("create ", look.what)};
      if (result.out.starts_with("no")) {
        return {Found::no, concat("you may not create ", look.what, " in namespace ", name_space,
                                  ": ask for a Role with the verb create on it, or use another namespace with -n")};
      }
      break;
    case Topic::twin:
      if (refusal != Refusal::none) break;
      if (result.out.empty()) return {Found::yes, concat("'", job, "' is free")};
      return {Found::no, concat("job '", job, "' or a part of it is there already (", enumerated(result.out),
                                "): end it with prrun cancel ", job,
                                ", take another name with --set job_name=NAME, or "
                                "give --replace")};
    case Topic::trial:
      if (refusal == Refusal::none) return {Found::yes, "the cluster would take all of it"};
      return {Found::no, std::string(refused("the cluster would refuse it", result).message())};
  }
  return {Found::unknown, std::string(refused(command, result).message())};
}

}  // namespace prrun
