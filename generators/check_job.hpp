// SPDX-License-Identifier: Apache-2.0
// Checks of a job as a whole: one for each place where it may run, and those that look at several values at once.
// checks.cpp calls them; some fill in what only they know.
#pragma once

#include <string>

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "options.hpp"

namespace prdist::gen {

/// Commands that cannot be run, or hold a secret.
void check_commands(JobSpec const& job, std::string const& target, Options const& options, Diagnostics& diagnostics);

/// What an apiserver or a scheduler would refuse; fills in the elastic range.
void check_kubernetes(JobSpec& job, std::string const& target, Options const& options, Diagnostics& diagnostics);

/// What mpirun or a batch system would refuse; fills in name and slots.
void check_machines(JobSpec& job, Diagnostics& diagnostics);

/// What prrun would refuse.
void check_local(JobSpec const& job, Diagnostics& diagnostics);

/// What the operators of PaddleJobs would ignore or leave undone.
void check_paddlejob(JobSpec const& job, Options const& options, Diagnostics& diagnostics);

/// More pods than one Job takes, more endpoints than one variable holds.
void check_scale(JobSpec const& job, std::string const& target, Options const& options, Diagnostics& diagnostics);

/// Where config.yaml and backend.yaml do not agree.
void check_model(JobSpec const& job, std::string const& target, Diagnostics& diagnostics);

/// A warning for each key that changes nothing for this target.
void unused_keys(JobSpec const& job, std::string const& target, Options const& options, Diagnostics& diagnostics);

/// Everything that a submission to PaddleCloud needs; fills in its defaults, too.
void check_paddlecloud(JobSpec& job, Diagnostics& diagnostics);

}  // namespace prdist::gen
