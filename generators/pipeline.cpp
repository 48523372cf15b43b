// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <prdist/core/text.hpp>
#include <system_error>

#include "checks.hpp"
#include "model_config.hpp"
#include "names.hpp"
#include "yaml_reader.hpp"

namespace prdist::gen {

namespace {

constexpr std::size_t largest_config_map = 900'000;  // the apiserver's limit is a mebibyte, metadata included

void notes(Job const& job, Options const& options, Diagnostics& diagnostics) {
  auto const* const target = find_target(job.target);
  if (target == nullptr || !target->kubernetes || options.profile == Profile::legacy) return;
  if (!job.spec.model.source && !job.spec.command.given) {
    diagnostics.note("no -m config.yaml: pods read /etc/prdist/config.yaml of their image");
  }
  for (auto const& volume : job.spec.volumes.items) {
    if (normal_path(volume.get("mount").value) == normal_path(job.spec.job_path.value)) return;
  }
  diagnostics.note(
      concat(job.spec.job_path.value, " is an empty folder of each pod and vanishes with it"),
      concat("keep the output by submit.volumes: [{name: data, mount: ", job.spec.job_path.value, ", pvc: NAME}]"));
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
