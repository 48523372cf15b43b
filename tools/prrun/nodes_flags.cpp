// SPDX-License-Identifier: Apache-2.0
// The flags of a job on several nodes.
#include <cstdlib>
#include <string_view>
#include <tuple>
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
                 "where nodes meet: host:port of the first node, or etcd://host:port, etcds:// with TLS")
      ->type_name("WHERE")
      ->envname("PADDLE_MASTER");
  app.add_option(spelled("etcd_cacert"), flags.etcd.ca, "authorities for etcds://, PEM; those of the system without it")
      ->type_name("FILE")
      ->envname("ETCDCTL_CACERT");
  app.add_option(spelled("etcd_cert"), flags.etcd.certificate, "this node's certificate for etcds://, PEM")
      ->type_name("FILE")
      ->envname("ETCDCTL_CERT");
  app.add_option(spelled("etcd_key"), flags.etcd.key, "the key to it, PEM, without a passphrase")
      ->type_name("FILE")
      ->envname("ETCDCTL_KEY");
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

namespace {

void check_certificates(NodesFlags const& flags) {
  auto const& [ca, certificate, key] = flags.etcd;
  if (flags.master && flags.master->tls) {
    if (certificate.empty() == key.empty()) return;
    throw CLI::ValidationError(key.empty() ? "--etcd_cert" : "--etcd_key",
                               concat("needs --etcd_", key.empty() ? "key" : "cert", " too"));
  }
  // A variable may be there for etcdctl; who gives a flag wants TLS, and would not get it.
  auto const given = [](std::string const& value, char const* variable) {
    auto const* const set = std::getenv(variable);
    return !value.empty() && (set == nullptr || value != set);
  };
  for (auto const& [name, value, variable] :
       {std::tuple{"--etcd_cacert", &ca, "ETCDCTL_CACERT"}, std::tuple{"--etcd_cert", &certificate, "ETCDCTL_CERT"},
        std::tuple{"--etcd_key", &key, "ETCDCTL_KEY"}}) {
    if (given(*value, variable)) {
      throw CLI::ValidationError(name, "is for an etcd with TLS: --nnodes N --master etcds://host:port");
    }
  }
}

}  // namespace

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
  if (most == 1) return check_certificates(flags);
  if (job.rank >= static_cast<int>(most)) {
    throw CLI::ValidationError("--rank", concat(job.rank, " is not below --nnodes ", flags.nodes_text));
  }
  if (!flags.master_text.empty()) {
    auto master = parse_master(flags.master_text);
    if (!master) throw CLI::ValidationError("--master", std::string(master.error().message()));
    flags.master = std::move(*master);
  }
  check_certificates(flags);
}

void note_unused(NodesFlags const& flags, JobFlags& job) {
  bool const alone = flags.terms.most == 1;
  if (alone && !flags.master_text.empty()) {
    job.warnings.emplace_back(
        job.job.trainer_list.empty()
            ? "master is not used: the job is on this node alone; give nnodes where others meet it"
            : "master is not used: the lists name the nodes, which need not meet");
  }
  // Paddle's 1 starts what failed again on its node; its 0 lets the failed node go and the others wait.
  bool const as_asked = job.elastic_level == -1 || (job.elastic_level == 1 && flags.terms.restarts > 0);
  if (!alone && !as_asked) {
    job.warnings.push_back(concat("elastic_level ", job.elastic_level,
                                  " is not used: ", "max_restart says how often the ",
                                  "job starts again, and a range of nnodes lets trainers come and go"));
  }
}

}  // namespace prrun
