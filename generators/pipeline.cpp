// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <prdist/core/text.hpp>
#include <system_error>

#include "checks.hpp"
#include "model_config.hpp"
#include "names.hpp"
#include "secrecy.hpp"
#include "yaml_reader.hpp"

namespace prdist::gen {

namespace {

constexpr std::size_t largest_config_map = 900'000;  // the apiserver's limit is a mebibyte, metadata included

/// Whether some role runs the program that is run when the file names none.
bool runs_prtrain(JobSpec const& job) {
  bool const servers = job.parameter_servers() && !job.command_of_servers().given;
  return servers || !job.command_of_trainers().given;
}

void default_command(Job const& job, bool pods, Diagnostics& diagnostics) {
  if (!runs_prtrain(job.spec)) return;
  diagnostics.note(concat("no command is given: ", pods ? "the image has to bring" : "it takes",
                          " prtrain, which is not part of this release"),
                   "write command: [./train, --epochs, \"3\"], or the words behind --");
  if (job.spec.model.source) return;
  diagnostics.note(pods ? "no -m config.yaml: pods read /etc/prdist/config.yaml of their image"
                        : "no -m config.yaml: the one beside the script, or in the current folder, is read");
}

void legacy_notes(Job const& job, bool kubernetes, Diagnostics& diagnostics) {
  if (!kubernetes) {
    diagnostics.note(concat("--profile legacy changes nothing for ", job.target));
    return;
  }
  diagnostics.note(
      "pods of --profile legacy have no security context: namespaces that enforce Pod Security "
      "'restricted' refuse them");
  if (job.spec.model.source && job.target != "volcano") {
    diagnostics.warning("PR022", {job.spec.model.source, 0, 0, 1, {}}, "-m is not written by --profile legacy",
                        "leave --profile legacy out, or have the file in the image");
  }
}

void notes(Job const& job, Options const& options, Diagnostics& diagnostics) {
  auto const* const target = find_target(job.target);
  if (target == nullptr) return;
  if (options.profile == Profile::legacy) legacy_notes(job, target->kubernetes, diagnostics);
  if (job.target == "paddlecloud") return;
  if (options.profile == Profile::legacy && target->kubernetes) return;
  default_command(job, target->kubernetes, diagnostics);
  if (!target->kubernetes) return;
  for (auto const& volume : job.spec.volumes.items) {
    if (normal_path(volume.get("mount").value) == normal_path(job.spec.job_path.value)) return;
  }
  diagnostics.note(
      concat(job.spec.job_path.value, " is an empty folder of each pod and vanishes with it"),
      concat("keep the output by submit.volumes: [{name: data, mount: ", job.spec.job_path.value, ", pvc: NAME}]"));
}

/// config.yaml travels with the job, in a ConfigMap or as a file.
void published_secrets(Node const& document, Diagnostics& diagnostics) {
  for (auto const& found : find_secrets(document)) {
    if (found.vocabulary) {
      diagnostics.warning("PR017", found.where, concat(found.name, " may be a secret, and the file is sent as it is"),
                          "if it is one, take it out and name it by submit.secrets");
    } else {
      diagnostics.error("PR017", found.where,
                        concat(found.name, " sounds like a secret, and the file is sent as it is"),
                        concat("put it into a Secret, write submit.secrets: [{env: NAME, secret: SECRET, key: KEY}] in "
                               "backend.yaml, and let the program read the variable"));
    }
  }
}

}  // namespace

std::optional<Job> load(SourcePtr const& file, SourcePtr const& config, Options const& options,
                        Diagnostics& diagnostics) {
  auto document = read_yaml(file, options.reading, diagnostics);
  if (!document) return std::nullopt;
  auto spec = read_job(std::move(*document), options.overrides, diagnostics);
  if (!spec) return std::nullopt;
  if (config) {
    // Models' files are not ours: what they repeat is their affair, the last one counts as it does for PaddleRec.
    auto reading = options.reading;
    reading.last_duplicate_wins = true;
    reading.foreign = true;
    if (auto const model = read_yaml(config, reading, diagnostics)) {
      spec->model = read_model_config(*model, diagnostics);
      if (!diagnostics.failed()) published_secrets(*model, diagnostics);
    }
    if (config->text.size() > largest_config_map && config->text.size() <= reading.max_bytes) {
      diagnostics.error("PR003", {config, 0, 0, 1, {}},
                        concat("the file has ", config->text.size(), " bytes; a ConfigMap takes ", largest_config_map),
                        "put large data on a volume");
    }
  }
  Job job{*spec, *spec, {}};
  job.target = complete(job.spec, options, diagnostics);
  if (!job.target.empty()) notes(job, options, diagnostics);
  return job;
}

std::vector<File> render(Job const& job, Options const& options, Renderer& renderer, Diagnostics& diagnostics) {
  auto const* const target = find_target(job.target);
  if (target == nullptr) throw TemplateError(concat("there is no target '", job.target, "'"));
  return target->render({job.spec, options, renderer, diagnostics});
}

std::filesystem::path template_folder(std::string const& given) {
  if (!given.empty()) return given;
  std::error_code error;
  auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / "../share/prdist/templates").lexically_normal();
}

}  // namespace prdist::gen
