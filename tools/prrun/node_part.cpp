// SPDX-License-Identifier: Apache-2.0
#include "node_part.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/node.hpp>
#include <prdist/launch/rendezvous/trainer_count.hpp>
#include <prdist/launch/rendezvous/transitions.hpp>
#include <prdist/launch/termination_log.hpp>

namespace prrun {

using namespace prdist;
using Clock = std::chrono::steady_clock;

namespace {

std::string first_of(JobState const& state) {
  auto const names = names_of(state, [](auto const& node) { return node.first; });
  return names.empty() ? std::string("its node") : names;
}

/// "trainer 2 was killed by SIGKILL after 3.1 s: see log/workerlog.2".
std::string fall_of(JobReport report, std::size_t rank) {
  report.outcome = Outcome::failed;
  report.first_failure = rank;
  return cause_of(report);
}

/// By the contract a trainer that was asked to go brings its pushes to the servers and ends so.
bool was_asked_to_go(Ending const& ending) {
  return exit_code(ending) == 128 + SIGTERM;
}

}  // namespace

NodePart::NodePart(NodeSetting setting, std::string const& name, NodeSession& session, SessionView first)
    : setting_(std::move(setting)),
      me_(*find_node(first.state, name)),
      epoch_(first.state.epoch),
      elastic_(goes_on_without(first.state.terms)),
      leaves_(elastic_ && me_.servers.empty() && !setting_.keeps_store),
      keeper_(session, first),
      pauses_(setting_.job.job.restart_delay),
      reason_(first.state.reason) {}

std::chrono::milliseconds NodePart::patience() {
  // What the others cannot hear now they find out by themselves.
  return std::chrono::milliseconds(keeper_.news().trouble ? 500 : 5000);
}

void NodePart::between(LocalRun const& run) {
  auto& supervisor = run.supervisor;
  auto const news = keeper_.news();
  auto const outlook = outlook_of(news.view, me_.name, setting_.keeps_store, epoch_);
  supervisor.trainers_elsewhere(outlook.trainers_elsewhere);
  supervisor.nodes_elsewhere(outlook.nodes_elsewhere);
  if (outlook.failure) {
    supervisor.failed_elsewhere(outlook.failure->code, outlook.failure->what, outlook.failure->stopped);
  }
  if (outlook.reforms) {
    supervisor.failed_elsewhere(EndingRules::code_of_a_victim, concat("the job forms again: ", *outlook.reforms));
  }
  look_at_store(news, supervisor);
  auto const& rules = supervisor.rules();
  if (rules.ending() && rules.outcome() != Outcome::succeeded) {
    if (!told_failure_) tell_failure(run.report());
    return;
  }
  if (elastic_ && rules.outcome() == Outcome::succeeded) {
    look_at_others(news.view.state);
    if (has_finished(news.view.state)) supervisor.finished_elsewhere();
    ask_for_fallen(run);
    decide(news.view, run);
    start_due(news.view, run);
  }
  tell_trainers(supervisor, news, outlook);
}

void NodePart::look_at_others(JobState const& state) {
  if (state.reason != reason_ && !state.reason.starts_with(name_of(me_))) {
    bool const gone = std::ranges::any_of(state.nodes, [&](auto const& node) {
      return !prdist::takes_part(node) && state.reason.starts_with(concat(name_of(node), ' '));
    });
    setting_.say(gone ? "WARNING" : "INFO", state.reason);
    if (gone) gone_.push_back(state.reason);
  }
  reason_ = state.reason;
  auto const shortage = shortage_of(state).value_or("");
  if (shortage == std::exchange(shortage_, shortage)) return;
  if (shortage.empty()) {
    setting_.say("INFO", "Enough trainers are there again");
  } else {
    setting_.say("WARNING", concat("Waiting for trainers, ", setting_.job.elastic_timeout, " s at most: ", shortage));
  }
}

/// A trainer that fell asks for one of the job's restarts; one that was asked to go stays away.
void NodePart::ask_for_fallen(LocalRun const& run) {
  auto& supervisor = run.supervisor;
  for (auto const rank : supervisor.fallen()) {
    auto const undecided =
        std::vector<std::size_t>(asked_.begin() + static_cast<std::ptrdiff_t>(decided_), asked_.end());
    if (due_.contains(rank) || std::ranges::find(undecided, rank) != undecided.end()) continue;
    auto const report = run.report();
    auto what = without_secrets(fall_of(report, rank), current_environment());
    if (was_asked_to_go(report.members.at(rank).ending.value_or(Ending{}))) {
      ++count_.quit;
      setting_.say("WARNING", concat(what, "; it is not started again, as it was asked to go"));
      keeper_.tell(count_, what);
      supervisor.give_up(rank);
      continue;
    }
    ++count_.falls;
    asked_.push_back(rank);
    falls_.push_back(what);
    keeper_.tell(count_, std::move(what));
  }
}

/// What the store says of those that asked: restarts are counted there, for all nodes.
void NodePart::decide(SessionView const& view, LocalRun const& run) {
  auto const* const self = find_node(view.state, me_.name);
  while (self != nullptr && decided_ < std::min(asked_.size(), self->count.falls)) {
    auto const rank = asked_[decided_];
    bool const again = decided_ < self->granted;
    auto const ran = std::chrono::duration<double>(run.supervisor.members().at(rank).seconds);
    auto const pause = again ? pauses_.after(ran) : std::chrono::milliseconds(0);
    setting_.say("WARNING", concat(falls_[decided_], "; ", fate_of(view.state, again),
                                   again ? concat(", ", pause_text(pause)) : std::string()));
    ++decided_;
    if (again) due_.emplace(rank, Clock::now() + pause);
    if (!again) run.supervisor.give_up(rank);
  }
}

void NodePart::start_due(SessionView const& view, LocalRun const& run) {
  auto const now = Clock::now();
  std::erase_if(due_, [&](auto const& each) {
    auto const& [rank, time] = each;
    if (has_finished(view.state)) {  // while it waited
      setting_.say("WARNING",
                   concat(to_string(run.supervisor.members().at(rank).member), ": ", fate_of(view.state, false)));
      run.supervisor.give_up(rank);
      return true;
    }
    if (now < time) return false;
    if (auto const started = run.start_again(rank); !started) {
      setting_.say("ERROR", started.error().message());
      run.supervisor.give_up(rank);
    }
    return true;
  });
}

void NodePart::tell_trainers(Supervisor const& supervisor, SessionKeeper::News const& news, Outlook const& outlook) {
  auto const& members = supervisor.members();
  std::size_t trainers = 0;
  std::size_t over = 0;
  std::size_t well = 0;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    auto const& [member, ending] = std::pair(members[rank].member, members[rank].ending);
    if (member.role != JobRole::trainer) continue;
    ++trainers;
    if (ending && !supervisor.rules().is_fallen(rank)) ++over;
    if (ending && ending->ok()) ++well;
  }
  if (well > std::exchange(count_.finished, well)) keeper_.tell(count_, falls_.empty() ? std::string() : falls_.back());
  // Where nobody has finished, the node is needed as long as others train.
  bool const trained = over == trainers && (well > 0 || !outlook.trainers_elsewhere);
  if (trained && !std::exchange(told_trained_, true)) keeper_.tell(NodePhase::trained);
  bool const done = std::ranges::all_of(members, [](auto const& each) { return each.ending.has_value(); });
  if (done && over == trainers && outlook.nodes_elsewhere && !std::exchange(told_done_, true)) {
    auto const others =
        names_of(news.view.state, [&](auto const& node) { return node.name != me_.name && prdist::takes_part(node); });
    setting_.say("INFO", concat("This node's part is done; the job goes on, on ", others));
  }
}

void NodePart::tell_failure(JobReport const& report) {
  if (!report.failed_elsewhere.empty() || std::exchange(told_failure_, true)) return;
  // It holds a line of a log, and others read it in the store and on their consoles.
  auto const what = without_secrets(last_words(report), current_environment());
  // The others go on without this node, as long as they are enough.
  bool const goes = leaves_ && report.exit_code != 64 && report.exit_code != 78;
  bool const asked = report.outcome == Outcome::interrupted;
  auto const& terms = setting_.flags.terms;
  bool const others_reform = terms.reforms && terms.elastic() && asked && !setting_.keeps_store;
  if (goes || others_reform) {
    told_left_ = true;
    keeper_.tell(NodePhase::left, what);
    return;
  }
  auto const code = report.exit_code;
  keeper_.tell(
      JobFailure{me_.name, code, concat(name_of(me_), ": ", what), code == EndingRules::code_of_a_victim, asked});
}

/// A job goes on for a while without its store, which it needs only to hear of the others.
void NodePart::look_at_store(SessionKeeper::News const& news, Supervisor& supervisor) {
  auto const place = to_string(setting_.place);
  if (!news.trouble) {
    if (std::exchange(in_trouble_, false)) setting_.say("INFO", concat("The store ", place, " answers again"));
    return;
  }
  auto const& flags = setting_.flags;
  auto const silence = Clock::now() - news.trouble_since;
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(silence).count();
  bool const passes = exit_code(news.trouble->code()) == EndingRules::code_of_a_victim;
  bool const first_node = setting_.place.kind == Master::Kind::first_node;
  // With its store the first node is gone, so it gets no more time than any other node.
  auto const patience = first_node ? std::min(flags.node_timeout, flags.store_patience) : flags.store_patience;
  bool const victims = first_node && std::ranges::any_of(supervisor.members(), [](auto const& each) {
                         return each.ending && each.ending->code == EndingRules::code_of_a_victim && !each.stopped;
                       });
  if (!std::exchange(in_trouble_, true)) {
    setting_.say("WARNING",
                 concat("The job goes on for ", patience, " s without its store: ", news.trouble->message()));
  }
  if (passes && !victims && silence < millis(patience)) return;
  auto const who = first_node ? concat(", and with it ", first_of(news.view.state)) : std::string();
  supervisor.failed_elsewhere(EndingRules::code_of_a_victim, concat("the store ", place, who, " was lost ", seconds,
                                                                    " s ago: ", news.trouble->message()));
}

/// The table shows how each ended last; what fell before, or while the others went on, stands below it, and so do the
/// nodes that have gone.
void NodePart::say_what_fell(JobReport const& report) const {
  for (auto const& each : gone_) setting_.say("WARNING", concat("Gone: ", each));
  for (auto const& each : report.fallen) {
    auto const again = std::ranges::any_of(
        report.members, [&](auto const& member) { return member.member == each.member && member.pid != each.pid; });
    setting_.say("WARNING",
                 concat("Fallen: ", to_string(each.member), ", pid ", each.pid, ", ",
                        to_string(each.ending.value_or(Ending{})), " after ", static_cast<long>(each.seconds), " s, ",
                        each.log.string(), again ? ", started again" : ", not started again"));
  }
}

bool NodePart::forms_again(Result<JobReport> const& report) {
  if (!report && leaves_) {
    told_left_ = true;
    keeper_.tell(NodePhase::left, std::string(report.error().message()));
  } else if (!report) {
    keeper_.tell(JobFailure{me_.name, exit_code(report.error().code()),
                            concat(name_of(me_), ": ", report.error().message()), false});
  } else {
    say_what_fell(*report);
    if (report->outcome != Outcome::succeeded) tell_failure(*report);
  }
  if (!keeper_.flush(patience()) || !report || report->outcome != Outcome::failed) return false;
  auto const view = keeper_.news().view;
  return view.member && !view.fenced && view.state.terms.reforms && view.state.phase == JobPhase::forming &&
         view.state.epoch != epoch_;
}

bool NodePart::end() {
  if (!told_left_) keeper_.tell(NodePhase::ended);
  return keeper_.flush(patience());
}

}  // namespace prrun
