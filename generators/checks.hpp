// SPDX-License-Identifier: Apache-2.0
// What a cluster would refuse late, found before anything is submitted; and the defaults of all keys that the file
// leaves out. After complete() without errors a target may read every member it uses.
#pragma once

#include <string>

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "options.hpp"

namespace prdist::gen {

/// Fills in defaults, applies the flags and reports what is wrong. Returns the target's name; empty when the
/// file does not say or there is no such target.
std::string complete(JobSpec& job, Options const& options, Diagnostics& diagnostics);

/// The longest host name that the job's pods will have, for the target.
[[nodiscard]] std::string longest_name(JobSpec const& job, std::string const& target, Options const& options);

/// Whether the pods run the image's own entrypoint: an empty list says so.
[[nodiscard]] bool bare_entrypoint(JobSpec const& job);

/// Whether servers and trainers may share one Indexed Job.
[[nodiscard]] bool one_indexed_job(JobSpec const& job, Options const& options);

}  // namespace prdist::gen
