// SPDX-License-Identifier: Apache-2.0
// plan: what a cluster would have to give, before it is asked: objects, pods, resources, names, ports and rights.
#include <algorithm>
#include <prdist/core/escaped.hpp>
#include <prdist/core/text.hpp>

#include "../checks.hpp"
#include "../quantity.hpp"
#include "commands.hpp"

namespace prdist::gen {

namespace {

struct Totals {
  std::int64_t pods = 0;
  long double cpu = 0, memory = 0, storage = 0, gpus = 0;
};

void add_pods(Json const& template_spec, std::int64_t count, std::string const& gpu, Totals& totals) {
  totals.pods += count;
  for (auto const& container : template_spec.value("containers", Json::array())) {
    auto const requests = container.value("/resources/requests"_json_pointer, Json::object());
    auto const limits = container.value("/resources/limits"_json_pointer, Json::object());
    auto const amount = [&](std::string const& name) -> long double {
      auto const& from = requests.contains(name) ? requests : limits;
      if (!from.contains(name)) return 0;
      auto const& value = from[name];
      return value.is_string() ? parse_quantity(value.get<std::string>()).value_or(0) : value.get<long double>();
    };
    auto const n = static_cast<long double>(count);
    totals.cpu += n * amount("cpu");
    totals.memory += n * amount("memory");
    totals.storage += n * amount("ephemeral-storage");
    totals.gpus += n * amount(gpu);
  }
}

/// Pods of the kinds of object that prgen writes.
void count(Json const& object, std::string const& gpu, Totals& totals) {
  auto const spec = object.value("spec", Json::object());
  auto const pod = [](Json const& holder) { return holder.value("/template/spec"_json_pointer, Json::object()); };
  if (spec.contains("tasks")) {
    for (auto const& task : spec["tasks"]) add_pods(pod(task), task.value("replicas", 1), gpu, totals);
  } else if (object.value("kind", "") == "Job") {
    add_pods(pod(spec), spec.value("parallelism", 1), gpu, totals);
  } else if (object.value("kind", "") == "Deployment") {
    add_pods(pod(spec), spec.value("replicas", 1), gpu, totals);
  } else if (object.value("kind", "") == "PaddleJob") {
    auto const roles = spec.value("paddleReplicaSpecs", spec);
    for (auto const& role : {"worker", "ps", "Worker", "Master"}) {
      if (roles.contains(role)) add_pods(pod(roles[role]), roles[role].value("replicas", 1), gpu, totals);
    }
  }
}

std::string rights(std::vector<Json> const& objects) {
  std::string out;
  for (auto const& object : objects) {
    if (object.value("kind", "") != "Role") continue;
    for (auto const& rule : object["rules"]) {
      for (auto const& resource : rule["resources"]) {
        out += concat(out.empty() ? "" : "; ", resource.get<std::string>(), ':');
        for (auto const& verb : rule["verbs"]) out += concat(' ', verb.get<std::string>());
      }
    }
  }
  return out.empty() ? "none" : out;
}

std::string plan(Context& context, Job const& job, std::vector<File> const& files) {
  std::string out =
      concat(job.spec.job_name.value.empty() ? "job" : escaped(job.spec.job_name.value), " for ", job.target, '\n');
  auto const line = [&](std::string_view title, std::string const& text) {
    out += concat("  ", title, std::string(title.size() < 14 ? 14 - title.size() : 1, ' '), text, '\n');
  };
  std::vector<Json> objects;
  for (auto const& file : files) {
    if (!file.yaml) {
      line("file", concat(file.name, ", ", file.text.size(), " bytes"));
      continue;
    }
    for (auto& document : documents_of(file.text)) objects.push_back(std::move(document));
  }
  Totals totals;
  for (auto const& object : objects) {
    line("object", concat(object.value("kind", ""), ' ', object["metadata"].value("name", ""), " (",
                          object.value("apiVersion", ""), ')'));
    count(object, job.spec.gpu_resource.value, totals);
  }
  if (totals.pods > 0) {
    auto const gpus = totals.gpus > 0 ? concat(", ", cores_text(totals.gpus), " GPUs") : std::string{};
    line("pods",
         concat(totals.pods, ": ", job.spec.server_num.value, " servers, ", job.spec.trainer_num.value, " trainers"));
    line("requests", concat(cores_text(totals.cpu), " cores, ", bytes_text(totals.memory), " memory, ",
                            bytes_text(totals.storage), " storage", gpus));
    auto const name = longest_name(job.spec, job.target, context.invocation.options);
    line("longest name", concat(name, ", ", name.size(), " of 63 characters"));
    line("rights", rights(objects));
  } else {
    line("processes", concat(job.spec.pods(), ": ", job.spec.server_num.value, " servers, ", job.spec.trainer_num.value,
                             " trainers"));
  }
  auto const ports = std::max<std::int64_t>(job.spec.ports_num.value + job.spec.ports_num_for_sparse.value, 1);
  if (job.spec.port.value != 0)  // PaddleCloud chooses them itself
    line("ports", ports == 1 ? concat(job.spec.port.value)
                             : concat(job.spec.port.value, " to ", job.spec.port.value + ports - 1));
  return out;
}

}  // namespace

int plan_command(Context& context) {
  auto const jobs = load_all(context);
  if (context.diagnostics.failed()) return exit_invalid;
  Renderer renderer(template_folder(context.invocation.options.template_dir));
  for (auto const& job : jobs) {
    context.out += plan(context, job, render(job, context.invocation.options, renderer, context.diagnostics));
  }
  if (context.diagnostics.failed()) return exit_invalid;
  return exit_ok;
}

}  // namespace prdist::gen
