// SPDX-License-Identifier: Apache-2.0
// How long servers of a foreign program stay for trainers of other nodes. Nodes whose members are listed do not talk to
// each other, and such a server never ends by itself; but its launcher sees whether anybody is connected to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/connections.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/rules.hpp>
#include <prdist/launch/supervisor.hpp>

namespace prdist {

class ListedWait {
 public:
  using Clock = std::chrono::steady_clock;
  using Say = std::function<void(std::string_view level, std::string_view text)>;

  /// Servers here are given up when, after the trainers here have ended, nobody was connected for `patience`.
  ListedWait(LaunchPlan const& plan, std::chrono::milliseconds patience, Say say)
      : patience_(patience), say_(std::move(say)) {
    auto const here = members_here(plan);
    for (auto const& member : members_of(plan)) {
      bool const own = std::ranges::find(here, member) != here.end();
      if (own && member.role == JobRole::server) ports_.insert(endpoint_of(plan, member).port);
      if (own || member.role == JobRole::server) continue;
      others_ += concat(others_.empty() ? "" : ", ", to_string(member), " on ", endpoint_of(plan, member).host);
    }
  }

  /// Between two steps of the supervisor.
  void look(Supervisor& supervisor, Clock::time_point now) {
    if (ports_.empty() || others_.empty() || supervisor.rules().ending() || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    auto const count = [&](JobRole role, bool ended) {
      return std::ranges::count_if(supervisor.members(), [&](auto const& each) {
        return each.member.role == role && each.ending.has_value() == ended;
      });
    };
    if (count(JobRole::trainer, false) > 0 || count(JobRole::server, false) == 0) return;
    bool const busy = open_connections(ports_) > 0;
    connected_ = connected_ || busy || count(JobRole::trainer, true) > 0;
    if (busy || !idle_since_) idle_since_ = now;
    auto const seconds = std::chrono::duration<double>(patience_).count();
    if (said_ != busy) {
      say_("INFO", busy ? concat("Servers here serve others: ", others_)
                        : concat("Servers here wait for ", others_, "; they end when nobody is connected for ", seconds,
                                 " s (--wait)"));
    }
    said_ = busy;
    if (now - *idle_since_ < patience_) return;
    if (connected_) {
      supervisor.trainers_elsewhere(false);
    } else {
      supervisor.failed_elsewhere(EndingRules::code_of_a_victim,
                                  concat("no trainer has connected to the servers here within ", seconds, " s, of ",
                                         others_, ": start their nodes, or wait longer with --wait"));
    }
  }

 private:
  std::chrono::milliseconds patience_;
  Say say_;
  std::set<std::uint16_t> ports_;  ///< of the servers here
  std::string others_;             ///< trainers of other nodes
  Clock::time_point next_{};
  std::optional<Clock::time_point> idle_since_;
  std::optional<bool> said_;
  bool connected_ = false;
};

}  // namespace prdist
