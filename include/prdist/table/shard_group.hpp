// SPDX-License-Identifier: Apache-2.0
// The shards that one thread owns, as a deterministic state machine: the same commands in the same order give the
// same bytes. apply() is the only way to change it; pull() never does, not even for keys it has not seen. No locks:
// one thread at a time.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/changed_rows.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/dense_table.hpp>
#include <prdist/table/gathering.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/sparse_shards.hpp>

namespace prdist {

class ShardGroup {
  template <class Tables>
  [[nodiscard]] static auto& declared(Tables& tables, TableId id) {
    auto const it = tables.find(id);
    if (it == tables.end()) throw Error(Errc::table_unknown, "table ", id, " was not declared to this server");
    return it->second;
  }

 public:
  /// Owns the shards set in `owned`; `trainers` is how many a gathered step waits for. Its tables take no more than
  /// `ceiling` bytes.
  ShardGroup(std::bitset<shard_count> const& owned, std::uint32_t trainers, std::size_t ceiling = no_ceiling)
      : owned_(owned), arena_(ceiling) {
    for (std::uint32_t trainer = 0; trainer < trainers; ++trainer) members_.insert(trainer);
  }

  /// Applies one command to the shards of this group; keys and ranges of other shards are passed over. Tickets of
  /// gathered pushes that are now applied are appended to `released`.
  /// @throws Error table.unknown before anything is changed, or table.memory: what the command had changed by then
  /// stays changed; config.invalid for a table that the ceiling has no room for at all.
  void apply(Command const& command, std::vector<Ticket>& released) {
    std::visit([&](auto const& it) { on(it, released); }, command);
  }

  /// One row of weights per key into `rows`, for the keys of this group; rows of other keys are left alone.
  /// @throws Error table.unknown
  void pull(TableId table, std::span<Key const> keys, std::span<float> rows) const {
    declared(sparse_, table).table.pull(keys, rows);
  }

  /// The weights of dense ranges [first, first + count) of the server's list, packed; others are left alone.
  /// @throws Error table.unknown
  void pull_dense(TableId table, std::size_t first, std::size_t count, std::span<float> weights) const {
    declared(dense_, table).table.pull(first, count, weights);
  }

  [[nodiscard]] std::size_t rows(TableId table) const {
    auto const it = sparse_.find(table);
    return it == sparse_.end() ? 0 : it->second.table.rows();
  }

  /// Trainers a gathered step of `table` still waits for, when some have come already.
  [[nodiscard]] std::vector<std::uint32_t> missing(TableId table) const {
    if (auto const it = sparse_.find(table); it != sparse_.end()) return it->second.gathering.missing(members_);
    if (auto const it = dense_.find(table); it != dense_.end()) return it->second.gathering.missing(members_);
    return {};
  }

  /// Rows of an adding table that others than `trainer` have changed since; a table of another kind has none.
  /// @throws Error table.unknown
  [[nodiscard]] ChangedRows::Answer changed(TableId table, std::uint32_t trainer, std::uint64_t since) const {
    (void)declared(sparse_, table);
    auto const it = changed_.find(table);
    return it == changed_.end() ? ChangedRows::Answer{} : it->second.changed(trainer, since);
  }

  /// What the tables take, and what is noted of keys that went since the last kept cut. The ceiling is for the tables.
  [[nodiscard]] std::size_t bytes() const noexcept {
    auto sum = arena_.bytes();
    for (auto const& [id, held] : sparse_) sum += held.table.cuts().removed().bytes();
    return sum;
  }

  /// About `rows` rows more of the passes that Shrink began; false when none is under way.
  bool advance_shrink(std::size_t rows) {
    for (auto& [id, held] : sparse_) {
      if (held.table.advance_shrink(rows)) return true;
    }
    return false;
  }

  /// Lets rows go where a table is short of room for pushes to come; false when there is nothing to do.
  bool advance_eviction(std::size_t rows) {
    if (arena_.ceiling() == Arena::most) return false;
    for (auto& [id, held] : sparse_) {
      if (held.table.advance_eviction(rows)) return true;
    }
    return false;
  }

  /// Rows of a table that a shrink or the memory ceiling has taken away.
  [[nodiscard]] std::uint64_t evicted(TableId table) const {
    auto const it = sparse_.find(table);
    return it == sparse_.end() ? 0 : it->second.table.evicted();
  }

  /// Sets the marker of a cut: it will hold the rows of all tables exactly as they are now, with all their state,
  /// whatever is applied from here on. An open one is abandoned. `sink` must live until the cut is kept or cancelled.
  /// @throws Error job.state when what has changed is asked for, and not known any more
  void begin_cut(CutKind kind, CutSink& sink) {
    cancel_cut();
    if (kind == CutKind::changed && forgot()) {
      throw Error(Errc::job_state,
                  "more keys have gone since the last cut than there is memory to note: ask for all rows");
    }
    sink_.emplace(sink);
    copies_ = kind == CutKind::copy;
    for_each_table([&](TableId id, auto& table) { table.begin_cut(kind, *sink_, id); });
  }

  /// Hands about `rows` rows more to the sink, when it is ready; false when the cut is complete.
  /// @throws what the sink threw, here or when a push handed rows out; the cut is cancelled then.
  bool advance_cut(std::size_t rows) {
    if (!sink_) return false;
    bool more = false;
    if (!sink_->failed()) {
      if (!sink_->ready()) return true;
      for_each_table([&](TableId, auto& table) { more = more || table.advance_cut(rows); });
    }
    if (auto const failed = sink_->failed()) {
      cancel_cut();
      std::rethrow_exception(failed);
    }
    return more;
  }

  /// The next cut of changed rows starts from this one. To be called when what was handed out is safe: until then
  /// the cut is open, and may be cancelled. One that is not complete is cancelled, and so is a copy.
  void keep_cut() {
    if (copies_) return cancel_cut();
    for_each_table([](TableId, auto& table) { table.keep_cut(); });
    sink_.reset();
  }

  /// Everything is as if the open cut had not begun; the next one of changed rows holds what this one did, too.
  void cancel_cut() {
    for_each_table([](TableId, auto& table) { table.cancel_cut(); });
    sink_.reset();
  }

  /// There can be no cut of what has changed since the one that was kept last.
  [[nodiscard]] bool forgot() const noexcept {
    return std::ranges::any_of(sparse_, [](auto const& it) { return it.second.table.cuts().forgot(); });
  }

  /// Takes every row of a sparse table away, and what it has counted; a dense one has none that could go.
  void clear(TableId table) {
    if (auto const it = sparse_.find(table); it != sparse_.end()) it->second.table.clear();
  }

  /// Inserts or overwrites the rows of a block that belong to this group, or removes them when it says so.
  /// @throws Error table.unknown, table.shape, table.memory
  void load(RowBlock const& block) {
    if (auto const it = dense_.find(block.table); it != dense_.end()) return it->second.table.load(block);
    declared(sparse_, block.table).table.load(block);
  }

 private:
  /// A table and the pushes of its step, when it gathers.
  template <class Table, class Push>
  struct Held {
    Table table;
    Gathering<Push> gathering;
  };
  template <class Visit>
  void for_each_table(Visit&& visit) {
    for (auto& [id, held] : sparse_) visit(id, held.table);
    for (auto& [id, held] : dense_) visit(id, held.table);
  }

  using Sparse = Held<SparseShards, PushRows>;
  using Dense = Held<DenseTable, PushDense>;

  /// A table. One for which the ceiling has no room from the beginning is a matter of configuration.
  /// @throws Error config.invalid, with how much it would have to be
  template <class Make>
  [[nodiscard]] auto made(std::string_view name, Make&& make) {
    auto const before = arena_.bytes();
    try {
      return make(arena_);
    } catch (Error const& error) {
      if (error.code() != Errc::table_memory || arena_.ceiling() == Arena::most) throw;
    }
    Arena measured;
    (void)make(measured);
    // One more, for the first rows.
    auto const least = before + measured.bytes() + Arena::huge_page;
    throw Error(Errc::config_invalid, "table '", name, "' cannot be made: each thread of the server needs at least ",
                least >> 20, " MiB for it and the tables before it, and its share of PRDIST_SERVER_MEMORY_MB is ",
                arena_.ceiling() >> 20, " MiB: give the server ", least >> 20, " for each of its threads, or more");
  }

  void on(DeclareSparse const& it, std::vector<Ticket>&) {
    if (sparse_.contains(it.table)) return;
    sparse_.emplace(it.table,
                    Sparse{made(it.spec.name, [&](Arena& from) { return SparseShards(from, it.spec, owned_); }), {}});
    if (it.spec.apply == ApplyRule::add) changed_.emplace(it.table, ChangedRows(members_));
  }

  void on(DeclareDense const& it, std::vector<Ticket>&) {
    if (dense_.contains(it.table)) return;
    dense_.emplace(
        it.table,
        Dense{made(it.spec.name, [&](Arena& from) { return DenseTable(from, it.spec, it.ranges, owned_); }), {}});
  }

  void on(PushRows const& it, std::vector<Ticket>& released) {
    push(declared(sparse_, it.table), it, released,
         [&](auto& table) { table.push(it.keys, it.gradients, it.show_click); });
    auto const record = changed_.find(it.table);
    if (record == changed_.end()) return;
    record->second.begin_change();
    for (auto const key : it.keys) {
      if (owned_[shard_of(hash_key(key))]) record->second.note(it.trainer, key);
    }
  }

  void on(PushDense const& it, std::vector<Ticket>& released) {
    push(declared(dense_, it.table), it, released, [&](auto& table) { table.push(it.first, it.count, it.gradients); });
  }

  template <class Table, class Push, class Now>
  void push(Held<Table, Push>& held, Push const& it, std::vector<Ticket>& released, Now&& now) {
    if (held.table.spec().apply != ApplyRule::gather) {
      now(held.table);
      released.push_back(it.ticket);
      return;
    }
    held.gathering.add(it);
    release(held, released);
  }

  /// Applies the steps that are complete.
  template <class Table, class Push>
  void release(Held<Table, Push>& held, std::vector<Ticket>& released) {
    held.gathering.release(members_, released, [&](auto const& step) { held.table.push_weighted(step); });
  }

  void on(AssignDense const& it, std::vector<Ticket>&) {
    declared(dense_, it.table).table.assign(it.first, it.count, it.weights);
  }

  void on(Shrink const& it, std::vector<Ticket>&) {
    auto& table = declared(sparse_, it.table).table;
    if (!table.spec().statistics.kept) {
      throw Error(Errc::table_mismatch, "table '", table.spec().name,
                  "' cannot be shrunk: it keeps no statistics, declare it with them");
    }
    if (table.spec().apply == ApplyRule::add) {
      throw Error(Errc::table_mismatch, "table '", table.spec().name,
                  "' cannot be shrunk: trainers learn on copies of its rows (geo), and what goes would be lost: take "
                  "another strategy");
    }
    table.begin_shrink(it.day);
  }

  void on(Leave const& it, std::vector<Ticket>& released) {
    members_.erase(it.trainer);
    // The one that left may be the last that others were waiting for.
    for (auto& [id, held] : sparse_) release(held, released);
    for (auto& [id, held] : dense_) release(held, released);
    for (auto& [id, record] : changed_) record.leave(it.trainer);
  }

  void on(Heard const& it, std::vector<Ticket>&) {
    if (auto const record = changed_.find(it.table); record != changed_.end()) {
      record->second.heard(it.trainer, it.change);
    }
  }

  std::bitset<shard_count> owned_;
  std::set<std::uint32_t> members_;
  Arena arena_;
  std::map<TableId, Sparse> sparse_;
  std::map<TableId, Dense> dense_;
  std::map<TableId, ChangedRows> changed_;  ///< of tables that add
  std::optional<GuardedSink> sink_;         ///< of the open cut
  bool copies_ = false;                     ///< the open cut is a copy
};

}  // namespace prdist
