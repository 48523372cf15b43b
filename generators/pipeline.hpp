// SPDX-License-Identifier: Apache-2.0
// The whole way in two steps: a file to a complete job, a complete job to files. Programs that want manifests without
// the command line (prrun among them) call these.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "options.hpp"
#include "target.hpp"

namespace prdist::gen {

struct Job {
  JobSpec raw;   ///< as the file has it
  JobSpec spec;  ///< with flags and defaults
  std::string target;
};

/// Reads and checks. `config` is the model's config.yaml or null. Nothing when the file cannot be read at all; look at
/// diagnostics.failed() before using what comes back.
[[nodiscard]] std::optional<Job> load(SourcePtr const& file, SourcePtr const& config, Options const& options,
                                      Diagnostics& diagnostics);

/// Renders a job that load() found no fault with; a target may find some more. @throws TemplateError
[[nodiscard]] std::vector<File> render(Job const& job, Options const& options, Renderer& renderer,
                                       Diagnostics& diagnostics);

/// The folder of templates: `given` when it is not empty, else beside the running program as it is installed.
[[nodiscard]] std::filesystem::path template_folder(std::string const& given);

}  // namespace prdist::gen
