// SPDX-License-Identifier: Apache-2.0
// A job on several nodes: each runs prrun with the same command, they meet at --master, and each runs its share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <prdist/core/error.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/master.hpp>
#include <prdist/launch/report.hpp>

#include "command_line.hpp"
#include "http_request.hpp"
#include "job_flags.hpp"

namespace prrun {

struct NodesFlags {
  std::string nodes_text = "1";
  std::string master_text;
  double wait = 600;
  double node_timeout = 10;
  double store_patience = 60;
  bool elastic_sync = false;
  TlsFiles etcd;
  prdist::JobTerms terms;                ///< what the texts say
  std::optional<prdist::Master> master;  ///< likewise
};

void declare(CLI::App& app, NodesFlags& flags);

/// What one flag alone does not tell. @throws CLI::ValidationError
void check(NodesFlags& flags, JobFlags const& job);

/// Lines for what these flags ask for and the job has no use for.
void note_unused(NodesFlags const& flags, JobFlags& job);

/// The command for the other nodes: this one's with the master in it, without what is this node's own. `words` are
/// all that prrun was given, the last `program_words` of them the program and its arguments; *** stands for secrets.
[[nodiscard]] std::string command_for_others(std::string const& prrun, prdist::Endpoint const& master,
                                             NodesFlags const& flags, std::string const& job_id, Words const& words,
                                             std::size_t program_words);

/// Runs this node's share of the job to its end, to be called under guard. An error means that it did not start.
[[nodiscard]] prdist::Result<prdist::JobReport> run_nodes(JobFlags const& job, NodesFlags const& flags,
                                                          Words const& words, prdist::Console& console);

}  // namespace prrun
