// SPDX-License-Identifier: Apache-2.0
// What a cluster would refuse late, found before anything is submitted; and the defaults of all keys that the file
// leaves out. After complete() without errors a target may read every member it uses.
#pragma once

#include <string>

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "options.hpp"

namespace prdist::gen {

/// Fills in defaults, applies the flags and reports what is wrong. Returns the target's name: k8s, volcano, paddlejob,
/// mpi, paddlecloud or local; empty when the file does not say.
std::string complete(JobSpec& job, Options const& options, Diagnostics& diagnostics);

/// The longest host name that the job's pods will have, for the target.
[[nodiscard]] std::string longest_name(JobSpec const& job, std::string const& target, Options const& options);

/// Whether servers and trainers may share one Indexed Job.
[[nodiscard]] bool one_indexed_job(JobSpec const& job, Options const& options);

}  // namespace prdist::gen
