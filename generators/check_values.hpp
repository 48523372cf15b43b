// SPDX-License-Identifier: Apache-2.0
// Checks of single values: names, quantities, images, ports, volumes, secrets. check_job.hpp decides which of them a
// target needs.
#pragma once

#include <string>
#include <string_view>

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "names.hpp"
#include "options.hpp"

namespace prdist::gen {

void check_label(Text const& text, Diagnostics& diagnostics, std::string (*fault_of)(std::string_view) = &label_fault);
/// A job's name outside Kubernetes, where it may become a folder's.
void check_folder(Text const& text, Diagnostics& diagnostics);
void check_quantity(Text const& text, bool bytes, Diagnostics& diagnostics);
void check_image(Text const& text, Diagnostics& diagnostics);
void check_path(Text const& text, Diagnostics& diagnostics);
void check_mount(Text const& text, Diagnostics& diagnostics);  ///< a path that is not the root itself
void check_env(JobSpec const& job, Options const& options, Diagnostics& diagnostics);
void check_secrets(JobSpec const& job, Diagnostics& diagnostics);
void check_volumes(JobSpec const& job, Options const& options, Diagnostics& diagnostics);
void check_placement(JobSpec const& job, Diagnostics& diagnostics);
/// Labels and annotations of the user's.
void check_metadata(JobSpec const& job, Diagnostics& diagnostics);
/// Users, groups and folders; warns where a key leaves Pod Security 'restricted'.
void check_security(JobSpec const& job, Options const& options, Diagnostics& diagnostics);
void check_hosts(JobSpec const& job, Diagnostics& diagnostics);
/// `on_one_host`: how many servers share a host's ports.
void check_ports(JobSpec const& job, bool needs_root_below_1024, Diagnostics& diagnostics,
                 std::int64_t on_one_host = 1);

/// An error that `what` is missing below the root of the file.
void missing(JobSpec const& job, std::string const& path, std::string const& what, std::string const& help,
             Diagnostics& diagnostics);

}  // namespace prdist::gen
