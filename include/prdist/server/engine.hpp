// SPDX-License-Identifier: Apache-2.0
// The threads of a server. Each owns the shards whose number leaves its rest, and everything on them; a request goes
// to every thread and each works off the part that is its own. The only lock on the way is that of a thread's queue,
// once per request.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/server/lane.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/shard_group.hpp>

namespace prdist {

class Engine {
 public:
  /// Told once, on any thread: null when all is applied, else what went wrong.
  using Done = std::function<void(Error const*)>;

  /// `threads` 0 works on the caller's thread, for a simulator that wants everything in one. The tables of all threads
  /// together stay under `ceiling` bytes.
  Engine(Placement const& placement, std::size_t server, unsigned threads, std::uint32_t trainers,
         std::size_t ceiling = no_ceiling) {
    auto const lanes = threads == 0 ? 1 : threads;
    sinks_.resize(lanes);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      std::bitset<shard_count> owned;
      std::size_t of_server = 0;
      for (std::size_t shard = 0; shard < shard_count; ++shard) {
        if (placement.server_of_shard(shard) == server) owned[shard] = of_server++ % lanes == lane;
      }
      lanes_.push_back(std::make_unique<Lane>(owned, trainers, ceiling / lanes, threads > 0));
    }
  }

  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  ~Engine() {
    for (auto& lane : lanes_) lane->end();  // all at once, before the first is waited for
    lanes_.clear();
  }

  /// Applies `command` on every thread, in the order of the calls; `done` is told when all have applied it, which
  /// for a gathered push is when its step is complete; the rows of a Shrink are gone through later, in slices. `until`
  /// is when the sender stops waiting.
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
    bool const shrinks = std::holds_alternative<Shrink>(command);
    bool const releases = std::holds_alternative<PushRows>(command) || std::holds_alternative<PushDense>(command);
    auto const shared = std::make_shared<Command const>(std::move(command));
    for (auto& lane : lanes_) {
      lane->serve([this, shared, ticket, releases](ShardGroup& group) {
        std::vector<Ticket> released;
        auto const failed = attempt([&] { group.apply(*shared, released); });
        if (failed) {
          // Everybody whose push was part of what failed is told, not only the one who came last.
          finish(ticket, &*failed);
          for (auto const each : released) finish(each, &*failed);
        }
        if (!releases || (failed && released.empty())) released.push_back(ticket);
        for (auto const each : released) release(each);
      });
      if (!shrinks) continue;
      lane->post(Lane::Chore{[](ShardGroup& group) {
                               return group.advance_shrink(Lane::rows_per_slice) ? Lane::Slice::more
                                                                                 : Lane::Slice::done;
                             },
                             [] {}});
    }
  }

  /// Calls `read` with every thread's shards, on those threads; `done` after the last, with the first error that one
  /// of them threw.
  void read(std::function<void(ShardGroup const&)> read, Done done) {
    on_every_lane([read = std::move(read)](ShardGroup const& group, std::size_t) { read(group); }, std::move(done),
                  true);
  }

  /// Inserts what `block` holds on the threads that own it, after what was asked for before.
  void load(std::shared_ptr<RowBlock const> block, Done done) {
    on_every_lane([block = std::move(block)](ShardGroup& group, std::size_t) { group.load(*block); }, std::move(done));
  }

  /// Takes every row of these tables away, and what they have counted, after what was asked for before.
  void clear(std::vector<TableId> tables, Done done) {
    on_every_lane(
        [tables = std::move(tables)](ShardGroup& group, std::size_t) {
          for (auto const table : tables) group.clear(table);
        },
        std::move(done));
  }

  /// Makes the sink of one thread, on that thread.
  using MakeSink = std::function<std::unique_ptr<CutSink>(std::size_t lane)>;

  /// Sets the marker of a cut on every thread, each at this place in its queue, and hands the rows out between later
  /// requests. `done` is told when all are handed out, or with the first error when that cannot be. A copy is over
  /// then; any other cut is open, and its sinks are there, until end_cut(). One at a time: another before that is
  /// job.state.
  void cut(CutKind kind, MakeSink make_sink, Done done) {
    if (cutting_.exchange(true)) {
      Error const error(Errc::job_state, "a cut of this server's tables is under way: wait for it to end");
      return done(&error);
    }
    bool const copy = kind == CutKind::copy;
    auto const all =
        std::make_shared<Countdown>(lanes_.size(), [this, copy, done = std::move(done)](Error const* error) {
          if (copy) cutting_ = false;
          done(error);
        });
    auto const make = std::make_shared<MakeSink const>(std::move(make_sink));
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      auto const slice = [this, lane, kind, all, make, begun = false](ShardGroup& group) mutable {
        bool more = false;
        auto const failed = attempt([&] {
          if (!std::exchange(begun, true)) {
            sinks_[lane] = (*make)(lane);
            group.begin_cut(kind, *sinks_[lane]);
          }
          more = group.advance_cut(Lane::rows_per_slice);
        });
        if (!failed && more) return sinks_[lane]->ready() ? Lane::Slice::more : Lane::Slice::waits;
        if (kind == CutKind::copy) {
          group.cancel_cut();
          sinks_[lane].reset();
        }
        all->finish(failed);
        return Lane::Slice::done;
      };
      lanes_[lane]->post(Lane::Chore{
          slice, [all] { all->finish(Error(Errc::job_state, "the server ended before the cut was complete")); }});
    }
  }

  /// Keeps the cut, so that the next one of changed rows starts from it, or leaves everything as if it had not been.
  /// The sinks are destroyed, on their threads.
  void end_cut(bool keep, Done done) {
    on_every_lane(
        [this, keep](ShardGroup& group, std::size_t lane) {
          keep ? group.keep_cut() : group.cancel_cut();
          sinks_[lane].reset();
        },
        [this, done = std::move(done)](Error const* error) {
          cutting_ = false;
          done(error);
        });
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
  /// Tells `done` when every lane has finished, with the first error.
  class Countdown {
   public:
    Countdown(std::size_t lanes, Done done) : left_(lanes), done_(std::move(done)) {}

    void finish(std::optional<Error> const& error) {
      {
        std::lock_guard const lock(mutex_);
        if (error && !failed_) failed_ = error;
        if (--left_ > 0) return;
      }
      done_(failed_ ? &*failed_ : nullptr);
    }

   private:
    std::mutex mutex_;
    std::size_t left_;
    Done done_;
    std::optional<Error> failed_;
  };

  /// What went wrong in `work`, if anything did.
  template <class Work>
  static std::optional<Error> attempt(Work&& work) {
    try {
      work();
    } catch (Error const& error) {
      return error;
    } catch (std::bad_alloc const&) {
      return Error(Errc::table_memory, "the server has no memory left: give it more or use more servers");
    } catch (std::exception const& error) {
      return Error(Errc::internal, "a thread of the server: ", error.what());
    }
    return std::nullopt;
  }

  /// Runs `work(ShardGroup&, lane)` on every thread; `done` after the last. A `request` is one that a trainer waits
  /// for.
  template <class Work>
  void on_every_lane(Work work, Done done, bool request = false) {
    auto const all = std::make_shared<Countdown>(lanes_.size(), std::move(done));
    auto const shared = std::make_shared<Work const>(std::move(work));
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      auto const task = [all, shared, lane](ShardGroup& group) {
        all->finish(attempt([&] { (*shared)(group, lane); }));
      };
      request ? lanes_[lane]->serve(task) : lanes_[lane]->post(task);
    }
  }

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

  std::atomic<bool> cutting_ = false;
  std::vector<std::unique_ptr<CutSink>> sinks_;  ///< of the open cut; each belongs to its lane's thread
  std::mutex waiting_mutex_;
  std::unordered_map<Ticket, Waiter> waiting_;
  Ticket last_ticket_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< last: their threads use all of the above
};

}  // namespace prdist
