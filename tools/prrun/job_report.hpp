// SPDX-License-Identifier: Apache-2.0
// What a run of a job begins and ends with: the configuration as Paddle shows it, the report on the console and as a
// file, and the same report from a guard when the run itself was killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include <prdist/core/error.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/ledger.hpp>
#include <prdist/launch/report.hpp>

#include "job_flags.hpp"

namespace prrun {

/// Finds out whether the report can be written, and takes an old one away. @throws prdist::Error
void prepare_report(JobFlags const& flags);

using JobRun = std::function<prdist::Result<prdist::JobReport>(prdist::Console&)>;

/// Runs the job to its end under guard, with flags.job.ledger for `run`. The configuration comes before, the report
/// after, on the console and in the file of --json, also when one of prrun's own processes is killed. An error that
/// kept the job from starting goes to the console. Returns the exit code.
[[nodiscard]] int run_and_report(JobFlags& flags, JobRun const& run);

/// Runs one node's share of a job under guard. Should the run be killed, the report goes to the console and its cause
/// into the termination log. With `starter`, this process' parent, it ends when that one is gone. Returns the exit
/// code.
[[nodiscard]] int run_share(std::function<int(prdist::JobLedger&)> const& run,
                            std::optional<pid_t> starter = std::nullopt);

}  // namespace prrun
