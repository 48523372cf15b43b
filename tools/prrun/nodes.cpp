// SPDX-License-Identifier: Apache-2.0
#include "nodes.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/configuration.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/node.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/rendezvous/address.hpp>
#include <prdist/launch/rendezvous/keeper.hpp>
#include <prdist/launch/rendezvous/node_share.hpp>
#include <prdist/launch/rendezvous/outlook.hpp>
#include <prdist/launch/rendezvous/session.hpp>
#include <prdist/launch/rendezvous/wait_for_nodes.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/termination_log.hpp>
#include <prdist/launch/view.hpp>

#include "etcd_store.hpp"
#include "store_server.hpp"

namespace prrun {

using namespace prdist;
using Clock = std::chrono::steady_clock;

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
  app.add_option(spelled("wait"), flags.wait, "seconds to wait until all nodes have come")
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
  auto& [least, most, reforms, restarts] = flags.terms;
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
  reforms = flags.elastic_sync || (least == most && restarts > 0);
  // Lists of endpoints say already who is where: nobody has to meet.
  if (!job.job.trainer_list.empty()) flags.terms = {};
  if (most == 1) return;
  if (job.rank >= static_cast<int>(most)) {
    throw CLI::ValidationError("--rank", concat(job.rank, " is not below --nnodes ", flags.nodes_text));
  }
  if (job.job.mode != JobMode::ps) {
    throw CLI::ValidationError("--nnodes", "a collective job on several nodes is given by --ips");
  }
  if (flags.master_text.empty()) return;
  auto master = parse_master(flags.master_text);
  if (!master) throw CLI::ValidationError("--master", std::string(master.error().message()));
  flags.master = std::move(*master);
}

namespace {

/// As a shell has to be given it.
std::string quoted(std::string const& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=:,@%+";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  auto const is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  // A line that is copied has to be one line.
  bool const escaped = std::ranges::any_of(word, is_control);
  std::string text = escaped ? "$'" : "'";
  for (char const c : word) {
    if (!escaped) {
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else if (is_control(static_cast<unsigned char>(c))) {
      auto const shown = printable(std::string_view(&c, 1));
      text += c == '\t' ? "\\t" : shown;
    } else {
      text += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    }
  }
  return text + "'";
}

bool is_flag(std::string const& word, std::string_view name) {
  auto const flag = std::string_view(word).substr(0, word.find('='));
  auto spelled = std::string(flag);
  std::ranges::replace(spelled, '-', '_');
  return spelled == concat("__", name);
}

/// A socket that listens there; none when the address is another machine's, or somebody listens there already.
Result<std::optional<Descriptor>> listen_at(Endpoint const& endpoint) {
  auto address = resolve(endpoint);
  if (!address) return address.error();
  auto const all = is_name_of_loopback(endpoint.host, *address);
  if (all) reinterpret_cast<sockaddr_in&>(address->storage).sin_addr.s_addr = INADDR_ANY;
  Descriptor socket(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int const yes = 1;
  if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      ::bind(socket.get(), address->get(), address->size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0) {
    return std::optional(std::move(socket));
  }
  if (errno == EADDRNOTAVAIL || errno == EADDRINUSE) return std::optional<Descriptor>();
  return Error(Errc::config_invalid, "launcher: the store cannot listen at --master ", to_string(endpoint), ", ",
               std::generic_category().message(errno), ": choose another port");
}

class NodesRun {
 public:
  NodesRun(JobFlags const& job, NodesFlags const& flags, Words const& words, Console& console)
      : job_(job), flags_(flags), words_(words), console_(console), held_(hold_signals()), signals_(held_) {
    adopt_orphans();
  }

  Result<JobReport> run() {
    if (auto const opened = open_store(); !opened) return opened.error();
    std::optional<Result<JobReport>> last;
    for (bool again = false;; again = true) {
      auto report = run_once(again);
      // A node that does not get in again ends with what it came to.
      if (!report && last && stopped_by_ == 0) {
        say("WARNING", report.error().message());
        return *last;
      }
      if (!comes_back_) return report;
      last = std::move(report);
    }
  }

 private:
  /// One life of this node in the job: several starts of its members when the job forms again.
  Result<JobReport> run_once(bool again) {
    comes_back_ = false;
    auto offer = make_offer(job_.job, host_);
    if (!offer) return offer.error();
    if (job_.rank >= 0) offer->node.wanted_rank = static_cast<std::size_t>(job_.rank);
    offer->node.first = server_ != nullptr;
    offer->node.again = again;
    me_ = offer->node;
    SessionOptions const options{job_.job.job_id, flags_.terms,
                                 std::chrono::seconds(static_cast<long>(flags_.node_timeout)),
                                 millis(job_.elastic_timeout)};
    NodeSession session(*store_, options, me_);
    for (;;) {
      auto view = meet(session);
      if (!view) {
        session.leave(Clock::now());
        if (stopped_by_ == 0) return view.error();
        return stopped();
      }
      auto report = take_part(session, std::move(*view), std::move(*offer));
      if (!forms_again_) {
        session.leave(Clock::now());
        return report;
      }
      auto const name = me_.name;
      offer = make_offer(job_.job, host_);
      if (!offer) {
        session.leave(Clock::now());
        return offer.error();
      }
      offer->node.name = name;
      offer->node.wanted_rank = me_.wanted_rank;
      offer->node.first = me_.first;
      session.offer(offer->node);
    }
  }

  void say(std::string_view level, std::string_view text) {
    if (level == "INFO" && (job_.job.quiet || !job_.job.infos)) return;
    console_.error(launch_line(level, text, std::chrono::system_clock::now()));
  }

  /// Finds out where this node is reached and where all meet, and runs the store when that is here.
  Result<void> open_store() {
    auto master = flags_.master;
    bool const etcd = master && master->kind == Master::Kind::etcd;
    host_ = job_.job.host;
    if (host_.empty()) {
      auto own = own_address(master ? std::optional(master->endpoint) : std::nullopt);
      if (!own) return own.error();
      host_ = std::move(*own);
    }
    std::optional<Descriptor> listening;
    if (!master) {
      auto port = bind_free_port(host_);
      if (!port) return port.error();
      if (auto const started = start_listening(*port); !started) return started.error();
      master = Master{Master::Kind::first_node, port->endpoint};
      listening = std::move(port->socket);
    } else if (!etcd && job_.rank <= 0) {
      auto opened = listen_at(master->endpoint);
      if (!opened) return opened.error();
      listening = std::move(*opened);
    }
    place_ = *master;
    if (!listening) {
      store_ = std::make_unique<EtcdStore>(place_);
      return {};
    }
    server_ = std::make_unique<StoreServer>(std::move(*listening));
    store_ = server_->store();
    if (!flags_.master) invite();
    return {};
  }

  /// As Paddle's launcher does, so that the line can be copied.
  void invite() {
    std::string const dashes(80, '-');
    console_.out("Copy the following command to other nodes to run.");
    console_.out(dashes);
    auto const command = command_for_others(program_invocation_name, place_.endpoint, flags_, job_.job.job_id, words_,
                                            job_.job.arguments.size() + 1);
    console_.out(command);
    console_.out(dashes);
    if (command.find("***") != std::string::npos) {
      say("WARNING", "*** in this command stands for what is secret: fill it in on the other nodes");
    }
    if (host_.starts_with("127.") || host_ == "::1") {
      say("WARNING", concat("this machine is reached at ", host_, " only by itself: give its address with --host"));
    }
  }

  Result<SessionView> meet(NodeSession& session) {
    NodeWatch watch;
    watch.say = [&](std::string_view text) { say("INFO", text); };
    watch.pause = [&](std::chrono::milliseconds time) {
      for (int const signal : signals_.wait(time)) {
        if (signal != SIGCHLD) stopped_by_ = signal;
      }
      console_.flush({});
      return stopped_by_ == 0;
    };
    return wait_for_nodes(session, millis(flags_.wait), watch);
  }

  /// Ctrl-C before the start.
  JobReport stopped() {
    JobReport report;
    report.job_id = job_.job.job_id;
    report.pod_name = me_.name;
    report.outcome = Outcome::interrupted;
    report.exit_code = 128 + stopped_by_;
    say("ERROR", cause_of(report));
    return report;
  }

  Result<JobReport> take_part(NodeSession& session, SessionView view, NodeOffer offer) {
    auto job = job_.job;
    auto const& self = *find_node(view.state, me_.name);
    epoch_ = view.state.epoch;
    told_failure_ = told_trained_ = told_done_ = told_left_ = forms_again_ = false;
    // Where servers run a trainer that falls takes nobody with it; elsewhere the node leaves, and may come back.
    bool const elastic = flags_.terms.elastic() && !flags_.terms.reforms;
    expendable_ = job.limits.expendable_trainers = elastic && !self.servers.empty();
    leaves_ = elastic && self.servers.empty() && server_ == nullptr;
    if (job.limits.timeout) {
      auto const passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
      job.limits.timeout = std::max(*job.limits.timeout - passed, std::chrono::milliseconds(0));
    }
    say("INFO", concat(name_of(me_), " is rank ", self.rank, " of ",
                       std::ranges::count_if(view.state.nodes, prdist::takes_part), ", run ", view.state.run, '.',
                       view.state.epoch, " of job ", job.job_id, " on ", to_string(place_)));
    auto local = share_of(view.state, std::move(offer), job);
    std::unique_ptr<SessionKeeper> keeper;
    auto const keep = [&]() -> SessionKeeper& {
      if (!keeper) keeper = std::make_unique<SessionKeeper>(session, view);
      return *keeper;
    };
    auto report = run_planned(job, std::move(local), held_, console_,
                              [&](Supervisor& supervisor) { between(keep(), supervisor); });
    if (!report && leaves_) {
      keep().tell(NodePhase::left);
    } else if (!report) {
      keep().tell(JobFailure{me_.name, exit_code(report.error().code()),
                             concat(name_of(me_), ": ", report.error().message()), false});
    } else if (report->outcome != Outcome::succeeded) {
      tell_failure(keep(), *report);
    }
    // What the others cannot hear now they find out by themselves.
    auto const patience = std::chrono::milliseconds(keep().news().trouble ? 500 : 5000);
    bool told = keep().flush(patience);
    forms_again_ = told && report && forms_again(*report, keep().news().view);
    if (forms_again_) return report;
    comes_back_ = told && told_left_ && report && report->outcome == Outcome::failed && may_help(report->exit_code);
    if (!told_left_) keep().tell(NodePhase::ended);
    told = keep().flush(patience);
    if (told && server_ != nullptr) linger(keep());
    return report;
  }

  static bool may_help(int code) { return code != 0 && code != 64 && code != 78 && code != 124; }

  /// Whether this node starts its members again, with those that are there now.
  bool forms_again(JobReport const& report, SessionView const& view) const {
    if (!view.member || view.fenced || !view.state.terms.reforms || report.outcome != Outcome::failed) return false;
    return view.state.phase == JobPhase::forming && view.state.epoch != epoch_;
  }

  void tell_failure(SessionKeeper& keeper, JobReport const& report) {
    if (!report.failed_elsewhere.empty() || std::exchange(told_failure_, true)) return;
    // The others go on without this node, as long as they are enough.
    bool const goes = leaves_ && report.exit_code != 64 && report.exit_code != 78;
    bool const others_reform = flags_.terms.reforms && report.outcome == Outcome::interrupted && server_ == nullptr;
    if (goes || others_reform) {
      told_left_ = true;
      keeper.tell(NodePhase::left);
      return;
    }
    // It holds a line of a log, and others read it in the store and on their consoles.
    auto const what = without_secrets(concat(name_of(me_), ": ", last_words(report)), current_environment());
    keeper.tell(JobFailure{me_.name, report.exit_code, what, report.exit_code == EndingRules::code_of_a_victim});
  }

  /// Between two steps of the supervisor: what happened elsewhere comes in, what happened here goes out.
  void between(SessionKeeper& keeper, Supervisor& supervisor) {
    auto const news = keeper.news();
    auto const outlook = outlook_of(news.view, me_.name, server_ != nullptr, epoch_);
    supervisor.trainers_elsewhere(outlook.trainers_elsewhere);
    supervisor.nodes_elsewhere(outlook.nodes_elsewhere);
    if (outlook.failure) supervisor.failed_elsewhere(outlook.failure->code, outlook.failure->what);
    if (outlook.reforms) {
      supervisor.failed_elsewhere(EndingRules::code_of_a_victim, concat("the job forms again: ", *outlook.reforms));
    }
    look_at_store(news, supervisor);
    auto const& rules = supervisor.rules();
    if (rules.ending() && rules.outcome() != Outcome::succeeded) {
      tell_failure(keeper, supervisor.report());
      return;
    }
    auto const& members = supervisor.members();
    auto const count = [&](auto&& which) {
      return std::ranges::count_if(
          members, [&](auto const& each) { return each.member.role == JobRole::trainer && which(each.ending); });
    };
    auto const trainers = count([](auto const&) { return true; });
    auto const over = count([](auto const& ending) { return ending.has_value(); });
    auto const well = count([](auto const& ending) { return ending && ending->ok(); });
    bool const done_training = well == trainers || (expendable_ && over == trainers);
    if (done_training && !std::exchange(told_trained_, true)) {
      keeper.tell(well == 0 && trainers > 0 ? NodePhase::fallen : NodePhase::trained);
    }
    bool const done = std::ranges::all_of(members, [](auto const& each) { return each.ending.has_value(); });
    if (done && outlook.nodes_elsewhere && !std::exchange(told_done_, true)) {
      say("INFO",
          concat("This node's part is done; the job goes on, on ", names_of(news.view.state, [&](auto const& node) {
                   return node.name != me_.name && prdist::takes_part(node);
                 })));
    }
  }

  /// A job goes on for a while without its store, which it needs only to hear of the others.
  void look_at_store(SessionKeeper::News const& news, Supervisor& supervisor) {
    if (!news.trouble) {
      if (std::exchange(in_trouble_, false)) say("INFO", concat("The store ", to_string(place_), " answers again"));
      return;
    }
    auto const silence = Clock::now() - news.trouble_since;
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(silence).count();
    bool const passes = exit_code(news.trouble->code()) == EndingRules::code_of_a_victim;
    bool const first_node = place_.kind == Master::Kind::first_node;
    // With its store the first node is gone, so it gets no more time than any other node.
    auto const patience = first_node ? std::min(flags_.node_timeout, flags_.store_patience) : flags_.store_patience;
    bool const victims = first_node && std::ranges::any_of(supervisor.members(), [](auto const& each) {
                           return each.ending && each.ending->code == EndingRules::code_of_a_victim && !each.stopped;
                         });
    if (!std::exchange(in_trouble_, true)) {
      say("WARNING", concat("The job goes on for ", patience, " s without its store: ", news.trouble->message()));
    }
    if (passes && !victims && silence < millis(patience)) return;
    auto const who = first_node ? concat(", and with it ", first_of(news.view.state)) : std::string();
    supervisor.failed_elsewhere(
        EndingRules::code_of_a_victim,
        concat("the store ", to_string(place_), who, " was lost ", seconds, " s ago: ", news.trouble->message()));
  }

  static std::string first_of(JobState const& state) {
    auto const names = names_of(state, [](auto const& node) { return node.first; });
    return names.empty() ? std::string("its node") : names;
  }

  /// The store stays until the others have heard how the job ended, for a bounded time.
  void linger(SessionKeeper& keeper) {
    auto const deadline =
        Clock::now() + millis(job_.server_grace + job_.grace + flags_.node_timeout) + std::chrono::seconds(10);
    auto const told_after = Clock::now() + std::chrono::seconds(1);
    bool told = false;
    while (Clock::now() < deadline) {
      auto const news = keeper.news();
      auto const left = names_of(news.view.state,
                                 [&](auto const& node) { return node.name != me_.name && prdist::takes_part(node); });
      if (left.empty()) return;
      if (Clock::now() > told_after && !std::exchange(told, true)) say("INFO", concat("The store waits for ", left));
      for (int const signal : signals_.wait(std::chrono::milliseconds(100))) {
        if (signal != SIGCHLD) return;
      }
      console_.flush({});
    }
  }

  JobFlags const& job_;
  NodesFlags const& flags_;
  Words const& words_;
  Console& console_;
  sigset_t held_;
  SignalSource signals_;
  std::string host_;
  Master place_;
  std::unique_ptr<StoreServer> server_;
  std::unique_ptr<Store> store_;
  NodeInfo me_;
  int stopped_by_ = 0;
  std::uint64_t epoch_ = 0;  ///< in which the members here began
  Clock::time_point began_ = Clock::now();
  bool expendable_ = false;  ///< trainers here may fall
  bool leaves_ = false;      ///< its failure is not that of the job
  bool forms_again_ = false;
  bool comes_back_ = false;
  bool told_left_ = false;
  bool told_failure_ = false;
  bool told_trained_ = false;
  bool told_done_ = false;
  bool in_trouble_ = false;
};

}  // namespace

std::string command_for_others(std::string const& prrun, Endpoint const& master, NodesFlags const& flags,
                               std::string const& job_id, Words const& words, std::size_t program_words) {
  std::string text = concat(quoted(prrun), " --master ", to_string(master));
  // Flags that came from the environment are not there on the other nodes.
  auto const own = words.size() - program_words;
  auto const given = [&](std::string_view name) {
    return std::ranges::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(own),
                               [&](auto const& word) { return is_flag(word, name); });
  };
  if (!given("nnodes")) text += concat(" --nnodes ", flags.nodes_text);
  if (!given("job_id") && job_id != "default") text += concat(" --job_id ", job_id);
  auto const shown = masked_arguments(words, current_environment());
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool const this_nodes_own = i < own && (is_flag(words[i], "rank") || is_flag(words[i], "host"));
    if (!this_nodes_own) text += ' ' + quoted(shown[i]);
    if (this_nodes_own && words[i].find('=') == std::string::npos) ++i;
  }
  return text;
}

Result<JobReport> run_nodes(JobFlags const& job, NodesFlags const& flags, Words const& words, Console& console) {
  return NodesRun(job, flags, words, console).run();
}

}  // namespace prrun
