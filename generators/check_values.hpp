// SPDX-License-Identifier: Apache-2.0
// Checks of single values: names, quantities, images, ports, volumes, secrets. checks.cpp decides which of them a
// target needs.
#pragma once

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "options.hpp"

namespace prdist::gen {

void check_label(Text const& text, Diagnostics& diagnostics);
/// A job's name outside Kubernetes, where it may become a folder's.
void check_folder(Text const& text, Diagnostics& diagnostics);
void check_quantity(Text const& text, bool bytes, Diagnostics& diagnostics);
void check_image(Text const& text, Diagnostics& diagnostics);
void check_mount(Text const& text, Diagnostics& diagnostics);
void check_env(JobSpec const& job, Options const& options, Diagnostics& diagnostics);
void check_secrets(JobSpec const& job, Diagnostics& diagnostics);
void check_volumes(JobSpec const& job, Options const& options, Diagnostics& diagnostics);
void check_placement(JobSpec const& job, Diagnostics& diagnostics);
void check_hosts(JobSpec const& job, Diagnostics& diagnostics);
void check_ports(JobSpec const& job, bool needs_root_below_1024, Diagnostics& diagnostics);

/// Everything that a submission to PaddleCloud needs; fills in its defaults, too.
void check_paddlecloud(JobSpec& job, Diagnostics& diagnostics);

/// An error that `what` is missing below the root of the file.
void missing(JobSpec const& job, std::string const& path, std::string const& what, std::string const& help,
             Diagnostics& diagnostics);

}  // namespace prdist::gen
