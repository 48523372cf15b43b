// SPDX-License-Identifier: Apache-2.0
// The flags of a job that prrun starts itself, on this machine or on several: those of paddle.distributed.launch and
// fleetrun, each with its variable, and our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/launch/configuration.hpp>
#include <prdist/launch/local.hpp>

#include "command_line.hpp"
#include "limit_flags.hpp"

namespace prrun {

struct JobFlags {
  prdist::LocalJob job;  ///< what check() makes of the flags below
  std::optional<std::size_t> server_num;
  std::optional<std::size_t> trainer_num;
  std::optional<std::size_t> nproc_per_node;
  std::string servers;
  std::string trainers;
  std::string ips;
  std::string devices;
  std::string run_mode;
  std::string log_level = "INFO";
  std::string log_overwrite = "False";
  std::optional<std::uint16_t> start_port;
  std::optional<std::uint16_t> gloo_port;
  int rank = -1;  ///< of this node among several
  std::optional<unsigned> max_restart;
  double restart_delay = 1;
  int elastic_level = -1;
  double elastic_timeout = 30;
  LimitFlags limits;
  std::string json;
  bool no_listen_fd = false;
  bool dry_run = false;

  std::vector<std::string> warnings;          ///< by check(): what was asked for and is done otherwise
  prdist::Configuration configuration;        ///< by check() and prepare(), as Paddle's launcher shows it
  std::map<std::string, std::string> unused;  ///< flags that mean nothing here and are taken all the same
};

void declare(CLI::App& app, JobFlags& flags);

/// What one flag alone does not tell; fills in what the job takes from them. @throws CLI::ValidationError,
/// prdist::Error
void check(CLI::App const& app, JobFlags& flags, prdist::Environment const& environment);

/// Notes for flags that only several nodes have a use for.
void note_single_node(CLI::App const& app, JobFlags& flags);

/// Looks for the program, and whether a report can be written: better now than after hours of training.
/// @throws prdist::Error
void prepare(JobFlags& flags, Words const& command);

/// Shows what would be started. Returns the exit code.
[[nodiscard]] int show_plan(JobFlags const& flags, prdist::LaunchPlan const& plan);

}  // namespace prrun
