// SPDX-License-Identifier: Apache-2.0
// Definitions of server/saving.hpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/layout_difference.hpp>
#include <prdist/checkpoint/manifest.hpp>
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/server/block_queue.hpp>
#include <prdist/server/saving.hpp>

namespace prdist {

namespace detail {

/// Bounds how many blocks are on their way into the engine, and keeps the first thing that went wrong.
class LoadWindow {
 public:
  explicit LoadWindow(std::size_t most) : most_(most) {}

  /// @throws Error what went wrong with an earlier block
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_ < most_; });
    if (failed_) throw *failed_;
    ++inside_;
  }
  void leave(Error const* error) {
    std::lock_guard const lock(mutex_);
    if (error != nullptr && !failed_) failed_ = *error;
    --inside_;
    changed_.notify_all();
  }
  /// @throws Error as enter()
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_ == 0; });
    if (failed_) throw *failed_;
  }

 private:
  std::size_t const most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t inside_ = 0;
  std::optional<Error> failed_;
};

}  // namespace detail

PRDIST_DECL void Saving::cut(std::string const& folder, std::string const& since, bool to_be_kept,
                             Engine::Done marked) {
  std::lock_guard const lock(mutex_);
  if (!since.empty() && since != kept_) {
    throw Error(Errc::job_state, "what has changed since '", since,
                "' is asked for, and the cut that was kept last is '", kept_, "': ask for all rows");
  }
  auto const writer = std::make_shared<PartWriter>(folder, server_);
  auto const queue = std::make_shared<BlockQueue>();
  background_.start(concat("server ", server_, ": its part of ", folder), [writer, queue](WorkProgress& progress) {
    queue->drain([&](RowBlock const& block) {
      writer->write(block);
      if (block.kind == BlockKind::rows) progress.rows += block.keys.size();
    });
    progress.waits_for_disk = true;
    return to_json(writer->close());
  });
  last_ = to_be_kept ? folder : std::string();
  auto const kind = !since.empty() ? CutKind::changed : to_be_kept ? CutKind::full : CutKind::copy;
  // The one before, when nobody kept it: its checkpoint was not completed, and this cut holds its changes too.
  engine_.end_cut(false, [this, kind, queue, marked = std::move(marked)](Error const*) {
    engine_.cut(
        kind, [queue](std::size_t) { return std::make_unique<QueueSink>(queue); },
        [queue](Error const* error) { error == nullptr ? queue->end() : queue->fail(*error); });
    marked(nullptr);
  });
}

PRDIST_DECL void Saving::keep_cut(std::string const& folder, std::string name, Engine::Done done) {
  std::lock_guard const lock(mutex_);
  if (last_.empty() || folder != last_) {
    throw Error(Errc::job_state, "the cut for ", folder, " is to be kept, and the last one was for '", last_, "'");
  }
  last_.clear();
  kept_.clear();
  engine_.end_cut(true, [this, name = std::move(name), done = std::move(done)](Error const* error) {
    if (error == nullptr) {
      std::lock_guard const kept(mutex_);
      kept_ = name;
    }
    done(error);
  });
}

PRDIST_DECL void Saving::tell_kept_cut(std::function<void(std::string const&)> tell) {
  auto const forgot = std::make_shared<std::atomic<bool>>(false);
  engine_.read(
      [forgot](ShardGroup const& group) {
        if (group.forgot()) *forgot = true;
      },
      [this, forgot, tell = std::move(tell)](Error const* error) {
        std::unique_lock lock(mutex_);
        auto const name = error != nullptr || *forgot ? std::string() : kept_;
        lock.unlock();
        tell(name);
      });
}

PRDIST_DECL void Saving::load(std::string const& path) {
  background_.start(concat("server ", server_, ": loading ", path),
                    [this, path](WorkProgress& progress) { return load_rows(path, progress.rows); });
  std::lock_guard const lock(mutex_);
  last_.clear();  // the rows are others now
  kept_.clear();
}

PRDIST_DECL std::string Saving::load_rows(std::string const& path, std::atomic<std::uint64_t>& rows) {
  auto const chain = chain_of(open_checkpoint(path));
  auto const other_admission = check_tables(chain.back());
  std::vector<TableId> tables;
  for (auto const& table : chain.back().manifest.tables) tables.push_back(table_id(name_of(table.spec)));
  auto const wanted = [&](PartBlock const& block, bool newest) {
    if (placement_.server_of_shard(block.shard) != server_ || catalog_.find(block.table) == nullptr) return false;
    // What is no row stands whole in every checkpoint: that of the ones below is out of date.
    if (block.kind == BlockKind::counters) return newest;
    return block.kind != BlockKind::admission || (newest && !other_admission.contains(block.table));
  };
  detail::LoadWindow window(8);
  auto const count_evicted = [&, tables] {
    std::atomic<std::uint64_t> sum = 0;
    window.enter();
    engine_.read(
        [&](ShardGroup const& group) {
          for (auto const table : tables) sum += group.evicted(table);
        },
        [&](Error const* error) { window.leave(error); });
    window.wait_for_all();
    return sum.load();
  };
  auto const evicted_before = count_evicted();
  try {
    // The tables become what was saved: what an earlier load left behind, when it found damage, is not part of it.
    window.enter();
    engine_.clear(std::move(tables), [&](Error const* error) { window.leave(error); });
    for (auto const& checkpoint : chain) {
      for (auto const& part : checkpoint.manifest.parts) {
        auto const reader = checkpoint.read(part);
        for (auto const& entry : reader.blocks()) {
          if (!wanted(entry, &checkpoint == &chain.back())) continue;
          auto const block = std::make_shared<RowBlock>();
          reader.read(entry, *block);
          window.enter();
          if (block->kind == BlockKind::rows) rows += block->keys.size();
          engine_.load(block, [&](Error const* error) { window.leave(error); });
        }
      }
    }
  } catch (...) {
    // What is under way still refers to the window.
    try {
      window.wait_for_all();
    } catch (Error const&) {
    }
    throw;
  }
  window.wait_for_all();
  if (auto const evicted = count_evicted() - evicted_before; evicted > 0) {
    log(Level::warning, "server ", server_, ": ", evicted, " of ", rows.load(), " rows of ", path,
        " had no room below the memory ceiling and went by the tables' eviction policy: raise PRDIST_SERVER_MEMORY_MB, "
        "or use more servers");
  }
  return "{}";
}

PRDIST_DECL std::set<TableId> Saving::check_tables(Checkpoint const& checkpoint) const {
  std::set<TableId> saved, other_admission;
  for (auto const& table : checkpoint.manifest.tables) {
    auto const& name = name_of(table.spec);
    auto const id = table_id(name);
    saved.insert(id);
    auto const declared = catalog_.find(id);
    if (!declared) {
      log(Level::warning, "server ", server_, ": table '", name, "' of ", checkpoint.path,
          " is not declared by this program: its rows are left out");
    } else if (auto const how = layout_difference(declared->spec, table.spec); !how.empty()) {
      throw Error(Errc::table_mismatch, "table '", name, "' of ", checkpoint.path, " cannot be loaded: ", how,
                  ": run the program with the options it was saved with");
    } else if (auto const* const now = declared->sparse();
               now != nullptr && !continues(now->admission, std::get<SparseSpec>(table.spec).admission)) {
      other_admission.insert(id);
      log(Level::warning, "server ", server_, ": table '", name, "' admits keys by another rule than in ",
          checkpoint.path, ": what is known of keys without a row begins anew");
    }
  }
  for (auto const& [id, info] : catalog_.all()) {
    if (!saved.contains(id)) {
      log(Level::warning, "server ", server_, ": table '", name_of(info->spec), "' is not in ", checkpoint.path,
          ": it starts anew");
    }
  }
  return other_admission;
}

}  // namespace prdist
