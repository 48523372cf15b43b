// SPDX-License-Identifier: Apache-2.0
// Flags that `prrun k8s` and `prrun mpi` share: both run one node's members, whose number and place others decide.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <prdist/core/environment.hpp>
#include <prdist/launch/node.hpp>

#include "command_line.hpp"
#include "limit_flags.hpp"

namespace prrun {

struct NodeFlags {
  std::optional<std::size_t> servers;
  std::optional<std::size_t> trainers;
  std::string log_dir;
  LimitFlags limits;
  bool quiet = false;
};

void declare(CLI::App& app, NodeFlags& flags);

/// The limits and the quietness of a job, from its flags.
void apply(NodeFlags const& flags, prdist::NodeJob& job);

/// Runs the job to its end. A failure's cause goes to the console and, as one line, into the termination log; the
/// return value is the exit code of the launch contract.
[[nodiscard]] int run_to_end(prdist::NodeJob const& job, prdist::Environment const& environment);

/// Shows an error that kept the job from starting, writes it into the termination log, and returns its exit code.
[[nodiscard]] int give_up(prdist::Error const& error, prdist::Environment const& environment);

/// Looks for the program as a shell would, beside prrun and in the current folder. @throws Error
[[nodiscard]] std::filesystem::path program_of(Words const& command, prdist::Environment const& environment);

}  // namespace prrun
