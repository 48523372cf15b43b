// SPDX-License-Identifier: Apache-2.0
// The flags of a submission: a job that backend.yaml describes and something else than this process runs.
#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"
#include "kubectl.hpp"

namespace prrun {

struct SubmitFlags {
  std::string model;
  std::string file;     ///< backend.yaml
  std::string backend;  ///< over what the file says
  std::vector<std::string> sets;
  std::string profile = "safe";
  std::string kube_version;  ///< empty: as the cluster says
  std::string duplicate_keys = "error";
  std::string template_dir;
  std::string folder;
  std::string package;    ///< for ssh: a folder to copy
  std::string workspace;  ///< for ssh: a folder that is there already
  std::string log_dir;
  std::string json;
  ClusterFlags cluster;
  double wait = 180;
  bool dry_run = false;
  bool replace = false;
  bool unchecked = false;
  bool quiet = false;
};

void declare(CLI::App& app, SubmitFlags& flags);

/// The command line of `prrun -m config.yaml -b backend.yaml`: parsed into `flags` and the words behind --. An exit
/// code when there is nothing left to do.
[[nodiscard]] std::optional<int> parse_submission(Words const& words, SubmitFlags& flags, Words& command);

}  // namespace prrun
