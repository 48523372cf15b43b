// SPDX-License-Identifier: Apache-2.0
// One thread of a server with the shards it owns: tasks in the order they are posted and, between them, slices of
// chores that would take too long at once.
#pragma once

#include <atomic>
#include <bitset>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <prdist/server/chore_turns.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/shard_group.hpp>

namespace prdist {

class Lane {
 public:
  using Task = std::function<void(ShardGroup&)>;

  /// Less than 100 microseconds: what a pull waits for at most, besides its own work.
  static constexpr std::size_t rows_per_slice = 256;

  enum class Slice : std::uint8_t {
    done,
    more,   ///< there is more to do, at once if possible
    waits,  ///< for something outside: ask again in a while
  };

  /// Work in slices, each well under a millisecond. The first one is done at its place among the tasks.
  struct Chore {
    std::function<Slice(ShardGroup&)> slice;
    std::function<void()> abandon;  ///< called when the lane ends before the chore does
  };

  /// Without a thread of its own everything is done by whoever posts it.
  Lane(std::bitset<shard_count> const& owned, std::uint32_t trainers, std::size_t ceiling, bool threaded)
      : group_(owned, trainers, ceiling) {
    if (threaded) thread_ = std::thread([this] { run(); });
  }

  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;

  ~Lane() {
    end();
    if (thread_.joinable()) thread_.join();
    for (auto const& chore : chores_) chore.abandon();
  }

  /// Lets the thread end once its queue is empty.
  void end() {
    {
      std::lock_guard const lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
  }

  /// As post(), for what a trainer waits for: while such requests come, chores leave the thread to them.
  void serve(Task task) {
    requested_ = true;
    post(std::move(task));
  }

  void post(Task task) {
    if (!thread_.joinable()) {
      std::lock_guard const lock(mutex_);
      task(group_);
      requested_ = false;  // nobody is kept waiting by slices here
      for (auto slice = advance(); slice == Slice::more || (slice == Slice::done && !chores_.empty());) {
        slice = advance();
      }
      return;
    }
    bool wake = false;
    {
      std::lock_guard const lock(mutex_);
      wake = queue_.empty();
      queue_.push_back(std::move(task));
    }
    if (wake) changed_.notify_one();
  }

  void post(Chore chore) {
    post([this, chore = std::move(chore)](ShardGroup& group) {
      if (chore.slice(group) != Slice::done) chores_.push_back(chore);
    });
  }

 private:
  /// A long queue must not put a chore off for ever, nor a chore a task for long.
  static constexpr std::size_t tasks_per_slice = 8;
  using Clock = ChoreTurns::Clock;
  /// How soon a chore is asked again that waits for a disk.
  static constexpr std::chrono::milliseconds while_waiting{1};

  void run() {
    std::vector<Task> work;
    auto last = Slice::done;
    looked_ = Clock::now();
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        auto const has_work = [&] { return ending_ || !queue_.empty(); };
        if (last == Slice::waits) {
          auto const next = turns_.due(looked_) ? looked_ + while_waiting : turns_.wake_up(looked_);
          changed_.wait_until(lock, next, has_work);
        } else if (last == Slice::done && chores_.empty()) {
          changed_.wait(lock, has_work);
        }
        if (ending_ && queue_.empty()) return;
        std::swap(work, queue_);
      }
      turns_.slept(look());
      for (std::size_t i = 0; i < work.size(); ++i) {
        work[i](group_);
        if (i % tasks_per_slice == tasks_per_slice - 1) advance();
      }
      work.clear();
      last = advance();
    }
  }

  /// One slice of the oldest chore, and of the one that never ends: room for the pushes to come.
  Slice advance() {
    auto const served = look();
    if (requested_.exchange(false)) turns_.requested(looked_);
    turns_.served(served);
    bool const short_of_room = group_.advance_eviction(rows_per_slice);
    if (chores_.empty()) return short_of_room ? Slice::more : Slice::done;
    if (!turns_.due(looked_)) return short_of_room ? Slice::more : Slice::waits;
    auto const slice = chores_.front().slice(group_);
    turns_.worked(look());
    if (slice == Slice::done) chores_.pop_front();
    return slice == Slice::more && !turns_.due(looked_) ? Slice::waits : slice;
  }

  /// The time since the last look.
  Clock::duration look() {
    auto const now = Clock::now();
    return now - std::exchange(looked_, now);
  }

  ShardGroup group_;
  // Used by the lane's thread alone.
  std::deque<Chore> chores_;
  ChoreTurns turns_;
  Clock::time_point looked_{};

  std::atomic<bool> requested_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> queue_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace prdist
