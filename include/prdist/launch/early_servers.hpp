// SPDX-License-Identifier: Apache-2.0
// Servers that end well while trainers still run. A server of prdist does so when all trainers have left it, and they
// may evaluate for long after that, so nothing is ended; but trainers of another program may wait for ever for a server
// that has gone, and somebody has to be told.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/report.hpp>

namespace prdist {

class EarlyServers {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// A sentence on each server that has ended with 0 at least `patience` ago while trainers run, here or `elsewhere`.
  /// Each is named once; `members` are those of one run of the job, by rank.
  [[nodiscard]] std::vector<std::string> look(std::vector<MemberReport> const& members, bool elsewhere,
                                              std::chrono::milliseconds patience, TimePoint now) {
    auto const is_running = [](auto const& each) { return each.member.role == JobRole::trainer && !each.ending; };
    auto const trainers = std::ranges::count_if(members, is_running);
    std::vector<std::string> lines;
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      auto const& each = members[rank];
      if (each.member.role != JobRole::server || !each.ending || !each.ending->ok() || each.stopped) continue;
      auto& since = seen_.try_emplace(rank, Seen{now, false}).first->second;
      if (since.told || (trainers == 0 && !elsewhere) || now - since.time < patience) continue;
      since.told = true;
      auto const who = trainers == 0 ? std::string("trainers of other nodes")
                                     : concat(trainers, trainers == 1 ? " trainer" : " trainers");
      lines.push_back(concat(to_string(each.member), " has ended with exit code 0, and ", who,
                             trainers == 1 ? " still runs: if it waits for that server, see "
                                           : " still run: if they wait for that server, see ",
                             each.log.string(), " for why it ended; --timeout bounds such a job"));
    }
    return lines;
  }

 private:
  struct Seen {
    TimePoint time;
    bool told;
  };

  std::map<std::size_t, Seen> seen_;  ///< by rank
};

}  // namespace prdist
