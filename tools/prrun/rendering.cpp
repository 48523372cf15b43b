// SPDX-License-Identifier: Apache-2.0
#include "rendering.hpp"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <string_view>
#include <utility>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>

#include "commands/commands.hpp"
#include "model_file.hpp"
#include "report.hpp"

namespace prrun {

using namespace prdist;

gen::Options options_of(SubmitFlags const& flags, Words const& command) {
  gen::Options options;
  options.backend = flags.backend;
  std::ranges::transform(options.backend, options.backend.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (options.backend == "kubernetes") options.backend = "k8s";
  options.name_space = flags.cluster.name_space;
  options.command = command;
  options.profile = flags.profile == "legacy" ? gen::Profile::legacy : gen::Profile::safe;
  options.template_dir = flags.template_dir;
  options.reading.last_duplicate_wins = flags.duplicate_keys == "last";
  for (auto const& set : flags.sets) {
    auto const equals = set.find('=');
    options.overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  if (flags.kube_version.empty()) return options;
  auto version = std::string_view(flags.kube_version);
  if (version.starts_with('v')) version.remove_prefix(1);
  auto const minor = version.starts_with("1.") ? version.substr(2, version.find_first_of(".+-", 3) - 2) : "";
  if (!parse_number(minor, options.kube_minor) || options.kube_minor < 0) {
    throw Error(Errc::config_invalid, "submit: --kube_version '", flags.kube_version,
                "' is not a version of Kubernetes: write for example 1.29");
  }
  return options;
}

Rendering::Rendering(SubmitFlags const& flags, gen::Options options) : flags_(flags), options_(std::move(options)) {
  if (!flags.model.empty()) {
    model_ = gen::read_source(find_model_file(flags.model, process_environment).value(), std::cin);
  }
  file_ = gen::read_source(flags.file, std::cin);
}

gen::Job Rendering::load() {
  diagnostics_ = {};
  auto job = gen::load(file_, model_, options_, diagnostics_);
  if (!job || diagnostics_.failed()) {
    // The machines of an MPI job, reached by ssh: the same keys.
    bool const ssh = options_.backend == "ssh" || (options_.backend.empty() && names_ssh());
    if (!ssh) fail();
    options_.backend = "mpi";
    options_.overrides.push_back({"backend", "mpi"});
    job = load();
    job->target = "ssh";
  }
  return std::move(*job);
}

std::vector<gen::File> Rendering::render(gen::Job const& job) {
  gen::Renderer renderer(gen::template_folder(options_.template_dir));
  auto files = gen::render(job, options_, renderer, diagnostics_);
  if (diagnostics_.failed()) fail();
  return files;
}

void Rendering::tell() const {
  if (!flags_.quiet) std::cerr << gen::report(diagnostics_, {});
}

/// Whether all that is wrong is a backend that prgen has no target for, and prrun has.
bool Rendering::names_ssh() const {
  for (auto const& each : diagnostics_.sorted()) {
    if (each.code == "PR009" && each.where.path == "backend") return each.message.starts_with("'ssh'");
  }
  return false;
}

void Rendering::fail() const {
  gen::Diagnostics shown;
  for (auto const& each : diagnostics_.sorted()) {
    if (each.severity == gen::Severity::error) shown.error(each.code, each.where, each.message, each.help);
    if (each.severity == gen::Severity::warning && !flags_.quiet)
      shown.warning(each.code, each.where, each.message, each.help);
  }
  std::cerr << gen::report(shown, {});
  throw FileIsWrong{};
}

}  // namespace prrun
