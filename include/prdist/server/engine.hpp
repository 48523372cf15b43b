// SPDX-License-Identifier: Apache-2.0
// The threads of a server. Each owns the shards whose number leaves its rest, and everything on them; a request goes
// to every thread and each works off the part that is its own. The only lock on the way is that of a thread's queue,
// once per request.
#pragma once

#include <atomic>
#include <bitset>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/shard_group.hpp>

namespace prdist {

class Engine {
 public:
  /// Told once, on any thread: null when all is applied, else what went wrong.
  using Done = std::function<void(Error const*)>;

  /// `threads` 0 works on the caller's thread, for a simulator that wants everything in one.
  Engine(Placement const& placement, std::size_t server, unsigned threads, std::uint32_t trainers) {
    auto const lanes = threads == 0 ? 1 : threads;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      std::bitset<shard_count> owned;
      std::size_t of_server = 0;
      for (std::size_t shard = 0; shard < shard_count; ++shard) {
        if (placement.server_of_shard(shard) == server) owned[shard] = of_server++ % lanes == lane;
      }
      lanes_.push_back(std::make_unique<Lane>(owned, trainers));
    }
    if (threads == 0) return;
    for (auto& lane : lanes_) lane->thread = std::thread([this, &lane = *lane] { run(lane); });
  }

  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  ~Engine() {
    for (auto& lane : lanes_) {
      {
        std::lock_guard const lock(lane->mutex);
        lane->ending = true;
      }
      lane->changed.notify_one();
    }
    for (auto& lane : lanes_) {
      if (lane->thread.joinable()) lane->thread.join();
    }
  }

  /// Applies `command` on every thread, in the order of the calls; `done` is told when all have applied it, which
  /// for a gathered push is when its step is complete. `until` is when the sender stops waiting.
  void apply(Command command, std::optional<TimePoint> until, Done done) {
    Ticket ticket = 0;
    {
      std::lock_guard const lock(waiting_mutex_);
      ticket = ++last_ticket_;
      waiting_.emplace(ticket, Waiter{lanes_.size(), until, table_of(command), std::move(done)});
    }
    std::visit(
        [&](auto& it) {
          if constexpr (requires { it.ticket; }) it.ticket = ticket;
        },
        command);
    bool const releases = std::holds_alternative<PushRows>(command) || std::holds_alternative<PushDense>(command);
    auto const shared = std::make_shared<Command const>(std::move(command));
    for (auto& lane : lanes_) {
      post(*lane, [this, shared, ticket, releases](ShardGroup& group) {
        std::vector<Ticket> released;
        std::optional<Error> failed;
        try {
          group.apply(*shared, released);
        } catch (Error const& error) {
          failed = error;
        } catch (std::bad_alloc const&) {
          failed = Error(Errc::table_memory, "the server has no memory left: give it more or use more servers");
        }
        if (failed) {
          // Everybody whose push was part of what failed is told, not only the one who came last.
          finish(ticket, &*failed);
          for (auto const each : released) finish(each, &*failed);
        }
        if (!releases || (failed && released.empty())) released.push_back(ticket);
        for (auto const each : released) release(each);
      });
    }
  }

  /// Calls `read` with every thread's shards, on those threads; `done` after the last, with the first error that one
  /// of them threw.
  void read(std::function<void(ShardGroup const&)> read, Done done) {
    struct Read {
      std::function<void(ShardGroup const&)> read;
      Done done;
      std::atomic<std::size_t> left;
      std::mutex mutex;
      std::optional<Error> failed;
    };
    auto const shared = std::make_shared<Read>();
    shared->read = std::move(read);
    shared->done = std::move(done);
    shared->left = lanes_.size();
    for (auto& lane : lanes_) {
      post(*lane, [shared](ShardGroup& group) {
        try {
          shared->read(group);
        } catch (Error const& error) {
          std::lock_guard const lock(shared->mutex);
          if (!shared->failed) shared->failed = error;
        }
        if (shared->left.fetch_sub(1) == 1) shared->done(shared->failed ? &*shared->failed : nullptr);
      });
    }
  }

  /// A command that is not applied yet, and whom to tell.
  struct Waiting {
    Done done;
    TableId table;
  };

  /// Every command that is not applied yet and whose time is up at `now`; with no `now`, all. The caller tells them
  /// why; the engine will not.
  [[nodiscard]] std::vector<Waiting> take_waiting(std::optional<TimePoint> now) {
    std::vector<Waiting> taken;
    std::lock_guard const lock(waiting_mutex_);
    for (auto& [ticket, waiter] : waiting_) {
      if (!waiter.done || (now && (!waiter.until || *waiter.until > *now))) continue;
      taken.push_back({std::exchange(waiter.done, nullptr), waiter.table});
    }
    return taken;
  }

  [[nodiscard]] std::size_t threads() const noexcept { return lanes_.size(); }

 private:
  using Task = std::function<void(ShardGroup&)>;

  struct Lane {
    Lane(std::bitset<shard_count> const& owned, std::uint32_t trainers) : group(owned, trainers) {}
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Task> queue;
    bool ending = false;
    ShardGroup group;
    std::thread thread;
  };

  struct Waiter {
    std::size_t left;
    std::optional<TimePoint> until;
    TableId table;
    Done done;  ///< empty once told
  };

  static TableId table_of(Command const& command) {
    return std::visit(
        [](auto const& it) -> TableId {
          if constexpr (requires { it.table; }) return it.table;
          return 0;
        },
        command);
  }

  void post(Lane& lane, Task task) {
    if (!lane.thread.joinable()) {
      std::lock_guard const lock(lane.mutex);
      task(lane.group);
      return;
    }
    bool wake = false;
    {
      std::lock_guard const lock(lane.mutex);
      wake = lane.queue.empty();
      lane.queue.push_back(std::move(task));
    }
    if (wake) lane.changed.notify_one();
  }

  static void run(Lane& lane) {
    std::vector<Task> work;
    for (;;) {
      {
        std::unique_lock lock(lane.mutex);
        lane.changed.wait(lock, [&] { return lane.ending || !lane.queue.empty(); });
        if (lane.queue.empty()) return;
        std::swap(work, lane.queue);
      }
      for (auto& task : work) task(lane.group);
      work.clear();
    }
  }

  void release(Ticket ticket) {
    Done done;
    {
      std::lock_guard const lock(waiting_mutex_);
      auto const it = waiting_.find(ticket);
      if (it == waiting_.end() || --it->second.left > 0) return;
      done = std::move(it->second.done);
      waiting_.erase(it);
    }
    if (done) done(nullptr);
  }

  void finish(Ticket ticket, Error const* error) {
    Done done;
    {
      std::lock_guard const lock(waiting_mutex_);
      if (auto const it = waiting_.find(ticket); it != waiting_.end()) done = std::exchange(it->second.done, nullptr);
    }
    if (done) done(error);
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex waiting_mutex_;
  std::unordered_map<Ticket, Waiter> waiting_;
  Ticket last_ticket_ = 0;
};

}  // namespace prdist
