// SPDX-License-Identifier: Apache-2.0
// The flags of a job on several nodes.
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>

#include "nodes.hpp"

namespace prrun {

using namespace prdist;

void declare(CLI::App& app, NodesFlags& flags) {
  app.add_option(spelled("nnodes"), flags.nodes_text,
                 "nodes of the job, each runs the same command; LEAST:MOST lets trainers come and go")
      ->type_name("N")
      ->envname("PADDLE_NNODES")
      ->capture_default_str();
  app.add_option(spelled("master"), flags.master_text,
                 "where nodes meet: host:port of the first node, or etcd://host:port")
      ->type_name("WHERE")
      ->envname("PADDLE_MASTER");
  app.add_option(spelled("wait"), flags.wait,
                 "seconds to wait until all nodes have come; with lists, while nobody is connected to servers here")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("node_timeout"), flags.node_timeout, "seconds of silence after which a node is given up")
      ->check(within(1.0, 3600.0, "a number of seconds"))
      ->type_name("S")
      ->capture_default_str();
  app.add_flag(spelled("elastic_sync"), flags.elastic_sync,
               "start all members again when nodes of an elastic job come or go");
  app.add_option(spelled("store_patience"), flags.store_patience,
                 "seconds that a running job goes on while etcd does not answer")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
}

void check(NodesFlags& flags, JobFlags const& job) {
  std::string_view const text = flags.nodes_text;
  auto& [least, most, reforms, restarts, collective] = flags.terms;
  auto const colon = text.find(':');
  bool const range = colon != std::string_view::npos;
  bool const read = parse_number(text.substr(0, colon), least) &&
                    parse_number(range ? text.substr(colon + 1) : text, most) && least >= 1 && most >= least &&
                    most <= 1024;
  if (!read) {
    throw CLI::ValidationError("--nnodes",
                               concat("'", text, "' is not a number from 1 to 1024, nor LEAST:MOST of them"));
  }
  if (flags.elastic_sync && least == most) {
    throw CLI::ValidationError("--elastic_sync", "needs a range, such as --nnodes 2:4");
  }
  // A job whose nodes are fixed starts again with all of them; an elastic one has Paddle's number of restarts.
  restarts = job.max_restart.value_or(least == most ? 0 : 3);
  bool const restarts_all = least == most && restarts > 0;
  collective = job.job.mode == JobMode::collective;
  // Processes that speak to each other start again together.
  reforms = flags.elastic_sync || collective || restarts_all;
  // Lists of endpoints say already who is where: nobody has to meet.
  if (!job.job.trainer_list.empty()) flags.terms = {};
  bool const without = job.job.mode == JobMode::ps && (job.job.servers == 0 || job.job.trainers == 0);
  if (most == 1 && without) {
    throw CLI::ValidationError(job.job.servers == 0 ? "--server_num" : "--trainer_num",
                               "0 is for nodes of a job on several (--nnodes): a job needs a server and a trainer");
  }
  if (job.job.servers + job.job.trainers == 0) {
    throw CLI::ValidationError("--server_num", "0 with --trainer_num 0: this node would have nothing to run");
  }
  if (most == 1) return;
  if (job.rank >= static_cast<int>(most)) {
    throw CLI::ValidationError("--rank", concat(job.rank, " is not below --nnodes ", flags.nodes_text));
  }
  if (flags.master_text.empty()) return;
  auto master = parse_master(flags.master_text);
  if (!master) throw CLI::ValidationError("--master", std::string(master.error().message()));
  flags.master = std::move(*master);
}

}  // namespace prrun
