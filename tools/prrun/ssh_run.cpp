// SPDX-License-Identifier: Apache-2.0
#include "ssh_run.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/board.hpp>
#include <prdist/launch/progress.hpp>
#include <prdist/launch/summary.hpp>
#include <prdist/launch/view.hpp>
#include <prdist/launch/workspace.hpp>
#include <prdist/version.hpp>

namespace prrun {

using namespace prdist;

namespace {

std::vector<JobMember> all_members(std::vector<SshNode> const& nodes) {
  std::vector<JobMember> all;
  for (auto const role : {JobRole::server, JobRole::trainer}) {
    std::vector<JobMember> some;
    for (auto const& node : nodes) {
      std::ranges::copy_if(node.members, std::back_inserter(some), [&](auto const& each) { return each.role == role; });
    }
    std::ranges::sort(some, {}, &JobMember::index);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Agents end their members by themselves in this time; only then does it make sense to be impatient with an agent.
EndingLimits with_agents_first(EndingLimits limits) {
  limits.grace += std::chrono::seconds(3);
  return limits;
}

}  // namespace

SshRun::SshRun(SshContext& context, std::vector<SshNode>& nodes, SshRunJob job)
    : context_(context),
      nodes_(nodes),
      job_(std::move(job)),
      ready_(nodes.size()),
      rules_(all_members(nodes), with_agents_first(job_.limits), Clock::now()),
      over_(nodes.size(), false),
      start_(Clock::now()) {
  for (auto const& member : all_members(nodes)) {
    MemberReport each;
    each.member = member;
    for (auto const& node : nodes) {
      if (std::ranges::find(node.members, member) == node.members.end()) continue;
      each.host = to_string(node.host);
      each.log = node_folder(job_.log_dir, node.index) / log_name(member);
    }
    report_.members.push_back(std::move(each));
  }
  known_.resize(report_.members.size(), false);
}

std::size_t SshRun::rank_of(JobMember const& member) const {
  auto const found = std::ranges::find(report_.members, member, &MemberReport::member);
  if (found == report_.members.end()) {
    throw Error(Errc::wire_message, "ssh: ", to_string(member), " is no member of this job");
  }
  return static_cast<std::size_t>(found - report_.members.begin());
}

void SshRun::tell_all(std::string_view word) {
  for (auto& node : nodes_) {
    if (node.channel && !over_[node.index]) node.channel->put(line_of({{"say", word}}));
  }
}

void SshRun::start() {
  std::vector<bool> greeted(nodes_.size(), false);
  for (auto& node : nodes_) {
    node.channel = std::make_unique<SshChannel>(context_.settings, node.host);
    node.channel->put(agent_script(node.prrun, node.workspace));
  }
  auto const greet = [&](SshNode& node, boost::json::object const& hello) {
    if (auto const theirs = text_field(hello, "version"); theirs != version) {
      throw Error(Errc::config_contradiction, "its prrun is version ", theirs, ", this one is ", version,
                  ": install the same one, or leave --remote_prrun out and it is copied");
    }
    greeted[node.index] = true;
    auto job = job_.common;
    job.node = node.index;
    job.host = node.host.host;
    job.members = node.members;
    job.grace = job_.limits.grace;
    node.channel->put(line_of(to_json(job)));
  };
  settle(context_, nodes_,
         {"Starting agents",
          "cannot run their part",
          std::chrono::seconds(context_.settings.connect_timeout) +
              std::chrono::ceil<std::chrono::seconds>(job_.common.patience),
          [&](SshNode& node) {
            while (auto const line = node.channel->received().next()) {
              // In front of the agent's first word a login shell may have said something.
              if (!greeted[node.index] && !line->starts_with("{\"say\":\"hello\"")) continue;
              auto const message = parse_message(*line);
              auto const word = text_field(message, "say");
              if (word == "hello") greet(node, message);
              if (word == "error") {
                bool const lasting = number_field<int>(message, "code") != 75;
                throw Error(lasting ? Errc::config_invalid : Errc::job_peer_lost, text_field(message, "text"), "");
              }
              if (word != "ready") continue;
              ready_[node.index] = node_ready_of(message);
              if (ready_[node.index].ports.size() != node.members.size()) throw detail::bad_field("ports");
              return true;
            }
            if (!node.channel->closed()) return false;
            throw Error(Errc::transport_closed, explain_ssh(node.host, node.channel->said()), "");
          },
          {},
          [&] {
            for (auto& node : nodes_) {
              // What comes before its first word may be read by the shell in front of it.
              if (node.channel && greeted[node.index]) node.channel->put(line_of({{"say", "alive"}}));
            }
          }});
  std::vector<SshHost> hosts;
  std::vector<std::vector<JobMember>> members;
  for (auto const& node : nodes_) {
    hosts.push_back(node.host);
    members.push_back(node.members);
  }
  plan_ = plan_of(hosts, members, ready_);
  std::random_device random;
  for (int i = 0; i < 6; ++i) plan_.pod_name += static_cast<char>('a' + random() % 26);
  plan_.job_id = job_.common.job_id;
  plan_.with_gloo = job_.with_gloo;
  context_.info(concat("Job: ", plan_.job_id, ", mode ps, replicas ", nodes_.size(), '[', nodes_.size(), ':',
                       nodes_.size(), "], elastic False"));
  context_.info(concat("Run Pod: ", plan_.pod_name, ", replicas ", report_.members.size(), ", status ready"));
  note_members();
  for (auto& node : nodes_) node.channel->put(line_of(plan_to_json(plan_)));
  start_ = Clock::now();
  rules_ = EndingRules(all_members(nodes_), with_agents_first(job_.limits), start_);
}

void SshRun::note_members() {
  if (job_.ledger == nullptr) return;
  job_.ledger->begin(plan_.job_id, plan_.pod_name);
  for (auto const& each : report_.members) job_.ledger->joined(each);
  for (std::size_t rank = 0; rank < report_.members.size(); ++rank) job_.ledger->ended(rank, report_.members[rank]);
}

JobReport SshRun::watch() {
  context_.info(concat("Watching Pod: ", plan_.pod_name, ", replicas ", report_.members.size(), ", status running"));
  context_.info(concat("Servers ", plan_.servers.size(), ", trainers ", plan_.trainers.size(), ", on ", nodes_.size(),
                       " hosts; logs are gathered in ", job_.log_dir.string(), " at the end"));
  // When all members are gone the agents still end what these have left; by then there is nothing to decide here.
  std::optional<Clock::time_point> deadline;
  while (anything_left() && (!deadline || Clock::now() < *deadline)) {
    for (int const signal : context_.channels.turn(channels_of(nodes_), std::chrono::milliseconds(50))) {
      if (deadline) tell_all("kill");
      rules_.interrupted(signal, Clock::now());
    }
    for (auto& node : nodes_) {
      if (!over_[node.index]) hear(node);
    }
    if (deadline) continue;
    auto const action = rules_.next(Clock::now(), false);
    bool const finished = action == EndingRules::Action::finish || action == EndingRules::Action::abandon;
    if (finished) deadline = Clock::now() + job_.limits.grace + 2 * EndingRules::kill_patience;
    act(action);
    show();
  }
  context_.console.status({});
  report_.job_id = plan_.job_id;
  report_.pod_name = plan_.pod_name;
  report_.outcome = rules_.outcome();
  report_.exit_code = rules_.exit_code();
  report_.signal = rules_.signal();
  report_.first_failure = rules_.first_failure();
  report_.stopped_in_order = rules_.stopped_in_order();
  for (std::size_t rank = 0; rank < known_.size(); ++rank) report_.members[rank].too_late = rules_.is_too_late(rank);
  report_.leftovers_too_late = rules_.leftovers_too_late();
  report_.grace = job_.limits.grace;
  report_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (auto const text = progress(); !text.empty() && text != last_progress_) context_.info(concat("Progress: ", text));
  for (auto& node : nodes_) node.channel.reset();
  return report_;
}

bool SshRun::anything_left() const {
  return !std::ranges::all_of(over_, std::identity{});
}

void SshRun::hear(SshNode& node) {
  try {
    while (!over_[node.index]) {
      auto const line = node.channel->received().next();
      if (!line) break;
      take(node, parse_message(*line));
    }
  } catch (Error const& error) {
    return lost(node, exit_code(error.code()), error.what());
  }
  if (over_[node.index]) return;
  if (node.channel->closed()) {
    auto const& said = node.channel->said();
    return lost(node, 75,
                concat("the channel to ", to_string(node.host), " was lost",
                       said.empty() ? std::string() : concat(", ", explain_ssh(node.host, said)),
                       ": its members are ended there"));
  }
  if (Clock::now() - node.channel->heard() > job_.common.patience) {
    lost(node, 75,
         concat("nothing was heard from ", to_string(node.host), " for ", job_.common.patience.count() / 1000,
                " s: is it overloaded, or gone?"));
  }
}

void SshRun::lost(SshNode& node, int code, std::string const& why) {
  if (!rules_.ending() && rules_.outcome() == Outcome::succeeded) report_.failed_elsewhere = why;
  if (rules_.ending()) context_.info(why);
  rules_.failed_elsewhere(code);
  over_[node.index] = true;
  for (auto const& member : node.members) {
    auto const rank = rank_of(member);
    if (known_[rank]) continue;
    known_[rank] = true;
    MemberEnding const unknown{rank, {}};
    rules_.ended({&unknown, 1});
  }
  node.channel.reset();  // whatever is left there ends when the channel does
}

void SshRun::take(SshNode& node, boost::json::object const& message) {
  auto const word = text_field(message, "say");
  if (word == "line" && !context_.quiet) {
    // A terminal that takes nothing must not make us keep everything; the log has it all.
    if (context_.console.congested()) {
      ++hidden_;
    } else {
      if (auto const count = std::exchange(hidden_, 0); count != 0) {
        context_.console.out(concat("[trainer 0] ... ", count, " lines not shown: see its log"));
      }
      context_.console.out(concat("[trainer 0] ", text_field(message, "text")));
    }
  }
  if (word == "progress") progress_[number_field<std::size_t>(message, "trainer")] = text_field(message, "line");
  if (word == "running") {
    auto const pids = numbers_field<int>(message, "pids");
    if (pids.size() != node.members.size()) throw detail::bad_field("pids");
    for (std::size_t i = 0; i < pids.size(); ++i) report_.members[rank_of(node.members[i])].pid = pids[i];
    note_members();
  }
  if (word == "ended") ended(ended_of(message));
  if (word == "error") {
    auto const what = concat(to_string(node.host), ": ", text_field(message, "text"));
    lost(node, number_field<int>(message, "code"), what);
  }
  if (word != "over") return;
  over_[node.index] = true;
  if (flag_field(message, "leftovers_too_late")) rules_.leftovers_elsewhere_too_late();
  auto const cause = text_field(message, "cause");
  if (cause.empty() || rules_.ending() || rules_.outcome() != Outcome::succeeded) return;
  report_.failed_elsewhere = concat("on ", to_string(node.host), " ", cause);
  rules_.failed_elsewhere(number_field<int>(message, "code"));
}

void SshRun::ended(MemberReport const& report) {
  auto const rank = rank_of(report.member);
  auto& own = report_.members[rank];
  own.ending = report.ending;
  own.seconds = report.seconds;
  own.stopped = report.stopped;
  if (job_.ledger != nullptr) job_.ledger->ended(rank, own);
  if (known_[rank]) return;
  known_[rank] = true;
  // One that its agent ended is no cause of anything: the rules hear only that it is gone, or what became of saving.
  bool const told = !report.stopped || rules_.outcome() == Outcome::interrupted;
  MemberEnding const ending{rank, told ? report.ending.value_or(Ending{}) : Ending{}, report.too_late};
  rules_.ended({&ending, 1});
}

void SshRun::act(EndingRules::Action action) {
  if (action == EndingRules::Action::terminate) tell_all("stop");
  // Said until it is gone: once is enough for an agent, and twice does no harm.
  if (action == EndingRules::Action::kill && kills_++ == 0) tell_all("kill");
  auto const now = Clock::now();
  if (now - alive_ < std::chrono::seconds(1)) return;
  alive_ = now;
  tell_all("alive");
}

std::string SshRun::ending_note() const {
  auto const rest = ending_steps(job_.limits.grace, rules_.asked_to_stop());
  switch (rules_.outcome()) {
    case Outcome::succeeded: return concat("Trainers completed, but not all processes ended: ", rest);
    case Outcome::failed:
      if (!rules_.first_failure()) return concat(report_.failed_elsewhere, ": ", rest);
      if (rules_.stopped_in_order()) return concat("The job was asked to stop: ", rest);
      return concat(to_string(report_.members.at(*rules_.first_failure()).member), " on ",
                    report_.members.at(*rules_.first_failure()).host, " failed: ", rest);
    case Outcome::interrupted: return concat(signal_name(rules_.signal()), ": ", rest);
    case Outcome::timed_out: return concat("The time limit has passed: ", rest);
  }
  return {};
}

std::string SshRun::progress() const {
  std::vector<TrainerProgress> trainers;
  for (auto const& each : report_.members) {
    if (each.member.role != JobRole::trainer) continue;
    auto const found = progress_.find(each.member.index);
    trainers.push_back(
        {found == progress_.end() ? std::nullopt : std::optional(parse_progress(found->second)), !each.ending});
  }
  return summary_of(trainers, Clock::now() - start_);
}

/// Members as lines, each behind a newline, as JobView has them.
std::string SshRun::board() const {
  std::vector<MemberState> states;
  for (auto const& each : report_.members) {
    auto state = each.ending ? to_string(*each.ending) : std::string(rules_.ending() ? "stopping" : "running");
    auto const found = progress_.find(each.member.index);
    bool const known = each.member.role == JobRole::trainer && found != progress_.end();
    states.push_back(
        {each.member, std::move(state), known ? std::optional(parse_progress(found->second)) : std::nullopt});
  }
  constexpr std::size_t left_to_logs = 5;
  std::string text;
  auto const rows = context_.console.rows();
  for (auto const& line : board_of(states, rows - std::min(rows, left_to_logs))) text += '\n' + line;
  return text;
}

void SshRun::show() {
  if (context_.quiet) return;
  if (rules_.ending() && !std::exchange(told_of_ending_, true)) {
    context_.info(ending_note());
    shown_ = {};
  }
  auto const now = Clock::now();
  auto& console = context_.console;
  auto const interval = console.terminal() ? std::chrono::milliseconds(250) : std::chrono::milliseconds(5000);
  if (now - shown_ < interval) return;
  shown_ = now;
  auto const text = progress();
  if (console.terminal()) {
    auto const up = [&](JobRole role) {
      return std::ranges::count_if(report_.members,
                                   [&](auto const& each) { return each.member.role == role && !each.ending; });
    };
    console.status(concat(text, text.empty() ? "" : " | ", "servers ", up(JobRole::server), '/', plan_.servers.size(),
                          " up, trainers ", up(JobRole::trainer), '/', plan_.trainers.size(), " up", board()));
  } else if (!text.empty() && text != last_progress_) {
    context_.info(concat("Progress: ", text));
    last_progress_ = text;
  }
  console.flush({});
}

}  // namespace prrun
