// SPDX-License-Identifier: Apache-2.0
// The commands of prrun. Each takes the words behind its name and returns the exit code.
#pragma once

#include <string>
#include <vector>

namespace prrun {

using Words = std::vector<std::string>;

/// All of prrun: a first word that names a command picks it; -m or -b are a submission; everything else is a job on
/// this machine. A program that is named like a command is reached behind --.
int run_command_line(Words const& words);

int run_here(Words const& words);   ///< without a command: a whole job on this machine
int run_agent(Words const& words);  ///< what --hostfile starts on each host; not for people
int run_k8s(Words const& words);
int run_mpi(Words const& words);
int run_probe(Words const& words);
int run_version(Words const& words);
int run_check(Words const& words);
int run_submit(Words const& words);  ///< a job that backend.yaml describes
int run_status(Words const& words);
int run_logs(Words const& words);
int run_cancel(Words const& words);

/// First words that are commands, but for those that are not for people.
[[nodiscard]] std::vector<std::string> command_names();

/// Whether words without a command are a submission: their flags lead up to -m or -b.
[[nodiscard]] bool is_submission(Words const& words);

}  // namespace prrun
