// SPDX-License-Identifier: Apache-2.0
#include "nodes.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/configuration.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/rendezvous/address.hpp>
#include <prdist/launch/rendezvous/node_outcomes.hpp>
#include <prdist/launch/rendezvous/node_share.hpp>
#include <prdist/launch/rendezvous/session.hpp>
#include <prdist/launch/rendezvous/wait_for_nodes.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/tries.hpp>
#include <prdist/launch/view.hpp>

#include "etcd_store.hpp"
#include "node_part.hpp"
#include "store_server.hpp"

namespace prrun {

using namespace prdist;
using Clock = std::chrono::steady_clock;

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

constexpr std::chrono::milliseconds store_call{2000};

class NodesRun {
 public:
  NodesRun(JobFlags const& job, NodesFlags const& flags, Words const& words, Console& console)
      : job_(job), flags_(flags), words_(words), console_(console), held_(hold_signals()), signals_(held_) {
    adopt_orphans();
  }

  Result<JobReport> run() {
    if (auto const opened = open_store(); !opened) return opened.error();
    auto offer = make_offer(job_.job, host_);
    if (!offer) return offer.error();
    if (job_.rank >= 0) offer->node.wanted_rank = static_cast<std::size_t>(job_.rank);
    offer->node.first = server_ != nullptr;
    me_ = offer->node;
    SessionOptions const options{job_.job.job_id, flags_.terms,
                                 std::chrono::seconds(static_cast<long>(flags_.node_timeout)),
                                 millis(job_.elastic_timeout)};
    NodeSession session(*store_, options, me_);
    // Several starts of the members here when the job forms again.
    for (;;) {
      auto view = meet(session);
      if (!view) {
        session.leave(Clock::now());
        if (stopped_by_ != 0) return stopped();
        if (!limit_is_near_ || view.error().code() != Errc::job_deadline) return view.error();
        return timed_out(view.error());
      }
      auto const restarts = view->state.restarts;
      auto const began = Clock::now();
      auto [report, again] = take_part(session, std::move(*view), std::move(*offer));
      if (again && !pause(session, restarts, *report, Clock::now() - began)) {
        session.leave(Clock::now());
        return stopped();
      }
      if (again) offer = make_offer(job_.job, host_);
      if (!again || !offer) {
        session.leave(Clock::now());
        if (!offer) return offer.error();
        return report;
      }
      offer->node.name = me_.name;
      offer->node.wanted_rank = me_.wanted_rank;
      offer->node.first = me_.first;
      session.offer(offer->node);
    }
  }

 private:
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
      store_ = std::make_unique<EtcdStore>(place_, store_call, flags_.etcd);
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
    limit_is_near_ = time_left() < millis(flags_.wait);
    return wait_for_nodes(session, std::min(millis(flags_.wait), time_left()), watch);
  }

  /// Of --timeout, which counts from the start of prrun; far away without it.
  std::chrono::milliseconds time_left() const {
    auto const passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    auto const limit = job_.job.limits.timeout;
    return limit ? std::max(*limit - passed, std::chrono::milliseconds(0)) : std::chrono::milliseconds::max();
  }

  /// After a failure there is some time before the members start again; what is only a change of nodes is done at
  /// once. False when somebody asks this process to end.
  bool pause(NodeSession& session, std::size_t restarts, JobReport const& report, Clock::duration ran) {
    auto view = session.round(Clock::now());
    if (!view || view->state.restarts == restarts) return true;
    if (job_.job.keep_logs && !std::exchange(kept_first_try_, true)) keep_first_try(report.members);
    auto const time = std::min(pauses_.after(ran), time_left());
    say("INFO",
        concat("Restart ", view->state.restarts, " of ", view->state.terms.restarts, " of the job ", pause_text(time)));
    for (auto const end = Clock::now() + time; stopped_by_ == 0 && Clock::now() < end;) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      for (int const signal : signals_.wait(std::min(left, std::chrono::milliseconds(200)))) {
        if (signal != SIGCHLD) stopped_by_ = signal;
      }
      console_.flush({});
      (void)session.round(Clock::now());  // the lease is kept; what is wrong shows when the nodes meet
    }
    return stopped_by_ == 0;
  }

  /// Ctrl-C before the start.
  JobReport stopped() {
    auto report = not_started(Outcome::interrupted, 128 + stopped_by_);
    report.signal = stopped_by_;
    say("ERROR", cause_of(report));
    return report;
  }

  /// --timeout has passed before the start; `why` names those who are missing.
  JobReport timed_out(Error const& why) {
    auto report = not_started(Outcome::timed_out, 124);
    say("ERROR", why.message());
    say("ERROR", cause_of(report));
    return report;
  }

  JobReport not_started(Outcome outcome, int code) const {
    JobReport report;
    report.job_id = job_.job.job_id;
    report.pod_name = me_.name;
    report.outcome = outcome;
    report.exit_code = code;
    report.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    return report;
  }

  struct Part {
    Result<JobReport> report;
    bool again = false;  ///< the job forms again, and this node with it
  };

  Part take_part(NodeSession& session, SessionView view, NodeOffer offer) {
    auto job = job_.job;
    auto const& self = *find_node(view.state, me_.name);
    if (job.limits.timeout) job.limits.timeout = time_left();
    say("INFO", concat(name_of(me_), " is rank ", self.rank, " of ",
                       std::ranges::count_if(view.state.nodes, prdist::takes_part), ", run ", view.state.run, '.',
                       view.state.epoch, " of job ", job.job_id, " on ", to_string(place_)));
    auto local = share_of(view.state, std::move(offer), job);
    local.plan.elastic_timeout = static_cast<std::size_t>(std::max(1.0, std::ceil(job_.elastic_timeout)));
    NodePart part({job_, flags_, place_, server_ != nullptr, [this](auto level, auto text) { say(level, text); }},
                  me_.name, session, std::move(view));
    job.limits.expendable_trainers = part.trainers_are_expendable();
    if (!std::exchange(retired_first_try_, true)) {
      for (auto const& member : members_here(local.plan)) retire_first_try(log_path(local.plan, member), job.keep_logs);
    }
    auto report = run_planned(job, std::move(local), held_, console_, [&](LocalRun const& run) { part.between(run); });
    if (part.forms_again(report)) return {std::move(report), true};
    if (part.end() && server_ != nullptr) linger(part);
    if (report) {
      report->nodes = outcomes_of(part.news().view.state);
      for (auto const& each : report->nodes) {
        say("INFO", concat("Node ", each.rank, ", ", each.name, " (", each.host, "): ", each.state,
                           each.code != 0 ? concat(" with exit code ", each.code) : std::string()));
      }
    }
    return {std::move(report), false};
  }

  /// The store stays until the others have heard how the job ended, for a bounded time.
  void linger(NodePart& part) {
    auto const deadline = Clock::now() + millis(job_.limits.server_grace + job_.limits.grace + flags_.node_timeout) +
                          std::chrono::seconds(10);
    auto const told_after = Clock::now() + std::chrono::seconds(1);
    bool told = false;
    while (Clock::now() < deadline) {
      auto const news = part.news();
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
  bool limit_is_near_ = false;  ///< --timeout ends the wait for the nodes, and not --wait
  RestartPauses pauses_{job_.job.restart_delay};
  bool kept_first_try_ = false;
  bool retired_first_try_ = false;
  Clock::time_point began_ = Clock::now();
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
