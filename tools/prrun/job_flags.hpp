// SPDX-License-Identifier: Apache-2.0
// The flags of a job that prrun starts itself, on this machine or on several, and what a run of it ends with: its
// report on the console and as a file.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <prdist/core/error.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/report.hpp>

#include "command_line.hpp"

namespace prrun {

struct JobFlags {
  prdist::LocalJob job;
  double server_grace = 10;
  double grace = 10;
  std::optional<double> timeout;
  std::string json;
  bool no_listen_fd = false;
  bool dry_run = false;
};

void declare(CLI::App& app, JobFlags& flags);

/// What one flag alone does not tell; fills in what the job takes from them. @throws CLI::ValidationError
void check(JobFlags& flags);

/// Looks for the program, and whether a report can be written: better now than after hours of training.
/// @throws prdist::Error
void prepare(JobFlags& flags, Words const& command);

/// Shows what would be started. Returns the exit code.
[[nodiscard]] int show_plan(JobFlags const& flags, prdist::LaunchPlan const& plan);

using JobRun = std::function<prdist::Result<prdist::JobReport>(prdist::Console&)>;

/// Runs the job to its end, to be called under guard (run_guarded). An error that kept it from starting goes to the
/// console, the report into the file of --json. Returns the exit code.
[[nodiscard]] int run_and_report(JobFlags const& flags, JobRun const& run);

}  // namespace prrun
