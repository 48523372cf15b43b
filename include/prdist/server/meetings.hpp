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

  /// `until` is when the trainer stops waiting.
  void arrive(std::string const& name, Attendance attendance, std::uint32_t trainer, std::string text,
              std::optional<TimePoint> until, Done done) {
    {
      std::lock_guard const lock(mutex_);
      auto& meeting = waiting_[{name, attendance}];
      meeting.texts[trainer] = std::move(text);
      meeting.waiting[trainer] = {std::move(done), until};
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

  /// Tells those whose time is up at `now` whom they waited for in vain. They are no longer at the meeting.
  void tell_overdue(TimePoint now) {
    std::vector<std::pair<Done, Error>> told;
    {
      std::lock_guard const lock(mutex_);
      for (auto& [key, meeting] : waiting_) {
        for (auto it = meeting.waiting.begin(); it != meeting.waiting.end();) {
          if (!it->second.until || *it->second.until > now) {
            ++it;
            continue;
          }
          std::string absent;
          for (auto const trainer : missing(key.second, meeting)) absent += concat(absent.empty() ? "" : ", ", trainer);
          told.emplace_back(
              std::move(it->second.done),
              Error(Errc::job_deadline, "trainer ", it->first, " waits at '", key.first, "' for trainers ", absent,
                    ": look at their logs",
                    key.second == Attendance::training ? "; a trainer that has no more batches calls finish()" : ""));
          meeting.texts.erase(it->first);
          it = meeting.waiting.erase(it);
        }
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

  Members members_;
  mutable std::mutex mutex_;
  std::map<Key, Meeting> waiting_;
};

}  // namespace prdist
