// SPDX-License-Identifier: Apache-2.0
// Named meetings of the trainers. Each brings a text, and when all are there everybody gets all of them: barriers,
// sums of metrics and the agreement on a checkpoint are meetings. One that has stopped is no longer waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/wire/texts.hpp>

namespace prdist {

/// Who a meeting waits for.
enum class Attendance : std::uint8_t {
  everybody,  ///< every trainer that has not left the job
  training,   ///< only those that still have batches
};

class Meetings {
 public:
  /// Told once: null and the texts when everybody is there, else what went wrong.
  using Done = std::function<void(Error const*, Texts const&)>;
  /// The trainers that count at this moment, for either kind of attendance.
  using Members = std::function<std::set<std::uint32_t>(Attendance)>;

  /// `members` is asked whenever somebody comes or goes.
  explicit Meetings(Members members) : members_(std::move(members)) {}

  /// `until` is when the trainer stops waiting; one that `looks` elsewhere then may come to another meeting.
  void arrive(std::string const& name, Attendance attendance, std::uint32_t trainer, std::string text,
              std::optional<TimePoint> until, Done done, bool looks = false) {
    {
      std::lock_guard const lock(mutex_);
      auto& meeting = waiting_[{name, attendance}];
      meeting.texts[trainer] = std::move(text);
      meeting.waiting[trainer] = {std::move(done), until, looks};
    }
    release();
  }

  /// Ends every meeting that nobody is missing from. Call it when a member has gone.
  void release() {
    std::vector<Meeting> complete;
    {
      std::lock_guard const lock(mutex_);
      for (auto it = waiting_.begin(); it != waiting_.end();) {
        if (missing(it->first.second, it->second).empty()) {
          elsewhere_.clear();
          complete.push_back(std::move(it->second));
          it = waiting_.erase(it);
        } else {
          ++it;
        }
      }
    }
    for (auto const& meeting : complete) {
      for (auto const& [trainer, waiter] : meeting.waiting) waiter.done(nullptr, meeting.texts);
    }
  }

  /// Tells those whose time is up at `now` whom they waited for in vain. They are no longer at the meeting, and ask
  /// again as long as there is hope: when all who are missing wait at other meetings, and do so the next time as well
  /// while no meeting has ended, there is none.
  void tell_overdue(TimePoint now) {
    std::vector<std::pair<Done, Error>> told;
    {
      std::lock_guard const lock(mutex_);
      auto const is_overdue = [now](Waiter const& waiter) { return waiter.until && *waiter.until <= now; };
      // All are looked at before the first one goes: it may be what another waits for.
      for (auto& [key, meeting] : waiting_) {
        for (auto& [trainer, waiter] : meeting.waiting) {
          if (is_overdue(waiter)) told.emplace_back(std::move(waiter.done), overdue(key, meeting, trainer));
        }
      }
      for (auto& [key, meeting] : waiting_) {
        std::erase_if(meeting.waiting, [&](auto const& it) {
          bool const goes = is_overdue(it.second);
          if (goes) meeting.texts.erase(it.first);
          return goes;
        });
      }
      std::erase_if(waiting_, [](auto const& it) { return it.second.waiting.empty(); });
    }
    for (auto const& [done, error] : told) done(&error, {});
  }

  void fail(Error const& error) {
    std::map<Key, Meeting> failed;
    {
      std::lock_guard const lock(mutex_);
      std::swap(failed, waiting_);
    }
    for (auto const& [name, meeting] : failed) {
      for (auto const& [trainer, waiter] : meeting.waiting) waiter.done(&error, {});
    }
  }

 private:
  using Key = std::pair<std::string, Attendance>;
  struct Waiter {
    Done done;
    std::optional<TimePoint> until;
    bool looks;
  };
  struct Meeting {
    Texts texts;
    std::map<std::uint32_t, Waiter> waiting;
  };

  [[nodiscard]] std::vector<std::uint32_t> missing(Attendance attendance, Meeting const& meeting) const {
    std::vector<std::uint32_t> absent;
    for (auto const member : members_(attendance)) {
      if (!meeting.waiting.contains(member)) absent.push_back(member);
    }
    return absent;
  }

  /// Where `trainer` waits and will stay; empty when it does not.
  [[nodiscard]] std::string place_of(std::uint32_t trainer) const {
    for (auto const& [key, meeting] : waiting_) {
      auto const it = meeting.waiting.find(trainer);
      if (it != meeting.waiting.end() && !it->second.looks) return key.first;
    }
    return {};
  }

  /// What `trainer` is told whose time at a meeting is up.
  [[nodiscard]] Error overdue(Key const& key, Meeting const& meeting, std::uint32_t trainer) {
    std::string absent, places;
    bool all_elsewhere = !meeting.waiting.at(trainer).looks;
    for (auto const each : missing(key.second, meeting)) {
      absent += concat(absent.empty() ? "" : ", ", each);
      auto const place = place_of(each);
      all_elsewhere = all_elsewhere && !place.empty();
      places += concat(places.empty() ? "" : ", ", "trainer ", each, " at '", place, "'");
    }
    auto& before = elsewhere_[{key, trainer}];
    if (all_elsewhere && before == places) {
      return {Errc::job_state,
              "trainer ",
              trainer,
              " waits at '",
              key.first,
              "', and ",
              places,
              ": neither comes to the other's meeting, so both would wait for ever; all workers have to meet under the "
              "same names in the same order, and where checkpoints are taken Checkpointer::barrier() is the barrier"};
    }
    before = all_elsewhere ? places : std::string();
    return {Errc::job_deadline,
            "trainer ",
            trainer,
            " waits at '",
            key.first,
            "' for trainers ",
            absent,
            ": look at their logs",
            key.second == Attendance::training ? "; a trainer that has no more batches calls finish()" : ""};
  }

  Members members_;
  mutable std::mutex mutex_;
  /// Who waited in vain where, for trainers that all waited elsewhere, and where; since the last meeting that ended.
  std::map<std::pair<Key, std::uint32_t>, std::string> elsewhere_;
  std::map<Key, Meeting> waiting_;
};

}  // namespace prdist
