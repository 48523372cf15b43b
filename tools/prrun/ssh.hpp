// SPDX-License-Identifier: Apache-2.0
// prrun --hostfile: a job on other hosts, over ssh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job_flags.hpp"

namespace prrun {

struct SshFlags {
  std::string hostfile;
  std::string package;
  std::string workspace;
  std::string root_dir = "prdist_jobs";
  std::string remote_prrun;
  std::string config;
  std::vector<std::string> options;
  std::vector<std::string> environment;
  std::string nics;
  std::optional<std::uint16_t> port;
  std::uint16_t dense = 1;
  std::uint16_t sparse = 1;
  int connect_timeout = 10;
  bool accept_new = false;
  bool whole_package = false;
  std::optional<std::size_t> servers;   ///< when given, of the whole job
  std::optional<std::size_t> trainers;  ///< when given, of the whole job

  /// Whether the job is to run over ssh at all.
  [[nodiscard]] bool wanted() const { return !hostfile.empty() || !package.empty() || !workspace.empty(); }
};

void declare(CLI::App& app, SshFlags& flags);

/// What one flag alone does not tell. `app` is asked which numbers were given. @throws CLI::ValidationError
void check(CLI::App const& app, SshFlags& flags);

/// Runs the program on the hosts; `unknown` are flags that are nobody's here and go to the program. Returns the exit
/// code.
[[nodiscard]] int run_over_ssh(JobFlags& job, SshFlags const& flags, Words command, Words const& unknown);

}  // namespace prrun
