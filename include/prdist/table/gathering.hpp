// SPDX-License-Identifier: Apache-2.0
// The pushes of a synchronous step, kept until every trainer's part is there. They are applied in the order of
// trainer ids, so the sum does not depend on who was faster.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <prdist/table/command.hpp>

namespace prdist {

template <class Push>
class Gathering {
 public:
  /// What one trainer gives to one step: one push, or several when it was too large for a frame.
  using Part = std::vector<Push>;

  void add(Push const& push) {
    auto& queue = queues_[push.trainer];
    if (queue.empty() || queue.back().back().last) queue.emplace_back();
    queue.back().push_back(push);
  }

  /// While every member has a whole part waiting: hands the parts, ordered by trainer, to `apply` and their tickets
  /// to `released`. Parts of trainers that have left since still count in the step they were made for.
  template <class Apply>
  void release(std::set<std::uint32_t> const& members, std::vector<Ticket>& released, Apply&& apply) {
    while (complete(members)) {
      std::vector<Part> step;
      for (auto it = queues_.begin(); it != queues_.end();) {
        if (it->second.front().back().last) {
          step.push_back(std::move(it->second.front()));
          it->second.pop_front();
        }
        it = it->second.empty() ? queues_.erase(it) : std::next(it);
      }
      // Before it is applied: if that fails, all of its senders are to hear it.
      for (auto const& part : step) {
        for (auto const& push : part) released.push_back(push.ticket);
      }
      apply(step);
    }
  }

  /// Members whose part of the waiting step has not come; empty when no step is waiting.
  [[nodiscard]] std::vector<std::uint32_t> missing(std::set<std::uint32_t> const& members) const {
    std::vector<std::uint32_t> absent;
    // Half a part of one that has left will never be whole: it is no step.
    bool waiting = false;
    for (auto const& [trainer, queue] : queues_) waiting = waiting || members.contains(trainer) || ready(trainer);
    if (!waiting) return absent;
    for (auto const member : members) {
      if (!ready(member)) absent.push_back(member);
    }
    return absent;
  }

 private:
  [[nodiscard]] bool ready(std::uint32_t trainer) const {
    auto const it = queues_.find(trainer);
    return it != queues_.end() && it->second.front().back().last;
  }

  [[nodiscard]] bool complete(std::set<std::uint32_t> const& members) const {
    bool any = false;
    for (auto const& [trainer, queue] : queues_) any = any || queue.front().back().last;
    for (auto const member : members) {
      if (!ready(member)) return false;
    }
    return any;
  }

  std::map<std::uint32_t, std::deque<Part>> queues_;
};

/// The share of each part in the step: its examples over all examples.
template <class Push>
[[nodiscard]] std::vector<float> shares_of(std::vector<std::vector<Push>> const& step) {
  double all = 0;
  for (auto const& part : step) all += part.front().weight;
  std::vector<float> shares;
  for (auto const& part : step) {
    shares.push_back(all == 0 ? 1.0F / static_cast<float>(step.size()) : static_cast<float>(part.front().weight / all));
  }
  return shares;
}

}  // namespace prdist
