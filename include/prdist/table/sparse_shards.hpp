// SPDX-License-Identifier: Apache-2.0
// One sparse table over all shards of a thread: rows are pulled, pushed, cut, loaded and let go. What a table does not
// ask for is not paid for: rows of floats go from the lookup straight to the optimizer's kernel.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/admission_filters.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/eviction.hpp>
#include <prdist/table/gathering.hpp>
#include <prdist/table/half.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/marked_row.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/row_layout.hpp>
#include <prdist/table/row_merger.hpp>
#include <prdist/table/row_pool.hpp>
#include <prdist/table/shard_counters.hpp>
#include <prdist/table/shard_tables.hpp>
#include <prdist/table/shrink.hpp>
#include <prdist/table/sparse_cut.hpp>
#include <prdist/table/sparse_table.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

class SparseShards {
 public:
  SparseShards(Arena& arena, SparseSpec spec, std::bitset<shard_count> const& owned)
      : spec_(std::move(spec)),
        kernel_(row_kernel(spec_.optimizer)),
        stream_(stream_of(spec_.seed, hash_name(spec_.name))),
        layout_(spec_),
        row_bytes_(layout_.bytes()),
        arena_(&arena),
        pool_(std::make_unique<RowPool>(arena, row_bytes_)),
        tables_(arena, *pool_, row_bytes_, owned),
        filters_(arena, spec_.admission, stream_, tables_.all().size()),
        cut_(arena.ceiling()),
        merger_(spec_.dim, spec_.statistics.kept) {
    if (spec_.precision != Precision::fp32) {
      codec_ = half_codec(spec_.precision);
      scratch_.resize(row_floats(spec_.optimizer, spec_.dim));
    }
    renew_marks();
  }

  [[nodiscard]] SparseSpec const& spec() const noexcept { return spec_; }

  [[nodiscard]] std::size_t rows() const noexcept { return tables_.rows(); }

  void pull(std::span<Key const> keys, std::span<float> rows) const {
    if (codec_.expand == nullptr) {
      auto const bytes = spec_.dim * sizeof(float);
      pull_by([bytes](float* out, float const* row) { copy_weights(out, row, bytes); }, keys, rows);
    } else {
      pull_by([this](float* out, float const* row) { codec_.expand(halves(row), out, spec_.dim); }, keys, rows);
    }
  }

  /// `show_click` as in PushRows. @throws Error table.memory
  void push(std::span<Key const> keys, std::span<float const> gradients, std::span<float const> show_click = {}) {
    push_all(keys, gradients, show_click, false);
  }

  /// One update per key by the weighted sum of the parts, added in their order.
  void push_weighted(std::vector<std::vector<PushRows>> const& step) {
    merger_.merge(step, [this](std::uint64_t hash) { return tables_.owns(hash); });
    push_all(merger_.keys(), merger_.gradients(), merger_.show_click(), true);
  }

  /// Begins the pass of a Shrink, after the rest of one that is still under way.
  void begin_shrink(std::uint32_t day) {
    finish_shrink();
    counters_.day = day;
    shrink_.begin();
  }

  /// About `rows` rows more; false when all are through. A row pushed before its turn decays after that push.
  bool advance_shrink(std::size_t rows) {
    if (!spec_.statistics.kept) return false;
    return shrink_.advance(rows, tables_.all(),
                           [this](SparseTable& table, std::size_t segment) { shrink_segment(table, segment); });
  }

  /// Keeps room for pushes to come, by the eviction policy: looks at about `rows` rows and lets some go. False when
  /// there is enough, or nothing may go. Pushes that come faster than this make their room themselves.
  bool advance_eviction(std::size_t rows) {
    if (spec_.eviction == Eviction::none || pool_->may_grow()) return false;
    // A share of the table's own: a small one would be emptied for room that the large ones beside it have taken.
    auto const reserve = this->rows() / 128;
    std::size_t done = 0;
    for (auto left = segments(); left > 0 && pool_->spare() < reserve; --left) {
      if (done >= rows) return true;
      auto const [table, segment] = hand_.move(tables_.all());
      done += table->rows_in(segment) + 1;
      (void)evict(*table, segment, SparseTable::home(mix(evicted_)));
    }
    return false;
  }

  /// Rows that a shrink or the memory ceiling has taken away.
  [[nodiscard]] std::uint64_t evicted() const noexcept { return evicted_; }

  // The cuts of this table, as ShardGroup describes them.
  void begin_cut(CutKind kind, GuardedSink& sink, TableId table) {
    finish_shrink();  // nobody who loads it could tell which rows were through
    cut_.begin(kind, sink, table, row_bytes_, tables_.all());
    filters_.begin_cut(sink, table, tables_.shards());
    if (counts()) {
      for (auto const shard : tables_.shards()) sink.take(block_of(counters_, table, shard));
    }
    renew_marks();
  }
  bool advance_cut(std::size_t rows) {
    return filters_.advance_cut(rows) || cut_.advance(rows, tables_.all(), tables_.shards());
  }
  void keep_cut() {
    filters_.cancel_cut();
    cut_.keep();
  }
  void cancel_cut() {
    filters_.cancel_cut();
    cut_.cancel();
  }
  [[nodiscard]] SparseCut const& cuts() const noexcept { return cut_; }

  /// Inserts or overwrites the rows of a block, or takes them away when it says so, or takes in what it has of a
  /// shard; keys of other shards and those are passed over. @throws Error table.shape, table.memory
  void load(RowBlock const& block) {
    if (block.kind == BlockKind::counters || block.kind == BlockKind::admission) return load_state(block);
    check_shape(spec_.name, block, row_bytes_);
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const key = block.keys[i];
      auto const hash = hash_key(key);
      if (!tables_.owns(hash)) continue;
      auto const row = tables_.of(hash).find(hash, key);
      if (block.kind == BlockKind::rows) {
        if (!row) make_room(tables_.of(hash), hash);
        std::memcpy(to_change(row, hash, key), block.rows.data() + i * row_bytes_, row_bytes_);
      } else if (row) {
        erase(hash, key);
      }
    }
  }

  /// Takes every row away, and forgets what was counted.
  void clear() {
    counters_ = {};
    filters_.clear();
    for (auto& table : tables_.all()) {
      doomed_.clear();
      table.for_each([this](Key key, float const*) { doomed_.push_back(key); });
      for (auto const key : doomed_) erase(hash_key(key), key);
    }
  }

  /// Calls `visit(Key, float const* row)` for every row.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto const& table : tables_.all()) table.for_each(visit);
  }

 private:
  static constexpr std::size_t block_keys = ShardTables::block_keys;
  using Block = ShardTables::Block;

  /// Whether something depends on what is counted.
  [[nodiscard]] bool counts() const noexcept {
    return codec_.expand != nullptr || !filters_.empty() || spec_.statistics.kept;
  }

  void load_state(RowBlock const& block) {
    if (!tables_.owns_shard(block.shard)) return;
    if (block.kind == BlockKind::counters) return counters_.take_later(counters_in(block, spec_.name));
    filters_.load(spec_.name, tables_.index_of_shard(block.shard), block);
  }

  void finish_shrink() {
    while (advance_shrink(std::numeric_limits<std::size_t>::max())) {
    }
  }

  /// What a row looks like that needs nothing noted before it changes.
  void renew_marks() { marks_ = marks_of(cut_.epoch(), spec_.eviction == Eviction::lru); }

  /// Whether rows are floats that the kernels may change in place, and none goes away meanwhile.
  [[nodiscard]] bool is_plain() const noexcept {
    if (counts()) return false;
    auto const per_key = SparseTable::segment_bytes + std::max(RowPool::slab_bytes, row_bytes_ + 64);
    return arena_->ceiling() == Arena::most || arena_->has_room(block_keys * per_key);
  }

  /// `distinct` when no key is there twice.
  void push_all(std::span<Key const> keys, std::span<float const> gradients, std::span<float const> show_click,
                bool distinct) {
    ++counters_.pushes;
    std::array<float*, block_keys> rows;
    std::array<float const*, block_keys> of_block;
    tables_.in_blocks(keys, [&](Block const& block) {
      bool const plain = is_plain();
      for (std::size_t i = 0; i < block.count; ++i) {
        auto const position = block.positions[i];
        auto const* const gradient = gradients.data() + position * spec_.dim;
        if (plain) {
          rows[i] = to_change(block.rows[i], block.hashes[i], keys[position]);
          of_block[i] = gradient;
        } else {
          // Different for every push of a key, and the same however many threads share the step.
          auto const sighting = mix(counters_.pushes * 0x9e3779b97f4a7c15ULL + (distinct ? 0 : position));
          push_one(block.hashes[i], keys[position], gradient, sighting, show_click_of(show_click, position));
        }
      }
      if (plain) kernel_(spec_.optimizer, rows.data(), of_block.data(), block.count, spec_.dim);
    });
  }

  template <class Copy>
  void pull_by(Copy&& copy_row, std::span<Key const> keys, std::span<float> rows) const {
    tables_.in_blocks(keys, [&](Block const& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        auto const position = block.positions[i];
        auto* const out = rows.data() + position * spec_.dim;
        if (auto const row = block.rows[i]) {
          copy_row(out, row.row());
        } else {
          fill_first(spec_.init, stream_, keys[position], {out, spec_.dim});
        }
      }
    });
  }

  static std::uint16_t const* halves(float const* row) noexcept { return reinterpret_cast<std::uint16_t const*>(row); }

  /// A push of one key, with all that a table may ask for.
  void push_one(std::uint64_t hash, Key key, float const* gradient, std::uint64_t sighting,
                std::pair<float, float> shown) {
    auto& table = tables_.of(hash);
    auto const found = table.find(hash, key);
    if (!found) {
      if (!filters_.empty() && !filters_.admits(tables_.index_of(hash), hash, key, sighting)) return;
      make_room(table, hash);
    }
    auto* const row = to_change(found, hash, key);
    if (codec_.expand == nullptr) {
      kernel_(spec_.optimizer, &row, &gradient, 1, spec_.dim);
    } else {
      auto* const wide = scratch_.data();
      codec_.expand(halves(row), wide, spec_.dim);
      std::memcpy(wide + spec_.dim, layout_.state(row), layout_.state_bytes);
      kernel_(spec_.optimizer, &wide, &gradient, 1, spec_.dim);
      store_wide(row, mix(stream_ ^ hash) ^ sighting);
    }
    if (!spec_.statistics.kept) return;
    auto const [show, click] = shown;
    auto known = layout_.statistics(row);
    known.show += show;
    known.click += click;
    known.delta_score += score_of(spec_.statistics, show, click);
    known.day = counters_.day;
    layout_.set_statistics(row, known);
  }

  /// The row of floats in the work space, as the table keeps it.
  void store_wide(float* row, std::uint64_t noise) {
    codec_.round(scratch_.data(), reinterpret_cast<std::uint16_t*>(row), spec_.dim, noise);
    std::memcpy(layout_.state(row), scratch_.data() + spec_.dim, layout_.state_bytes);
  }

  /// Lets rows go when the memory ceiling leaves no room for one more. @throws Error table.memory when none may.
  void make_room(SparseTable& table, std::uint64_t hash) {
    auto const first = SparseTable::home(hash);
    // Rows that go anywhere make room for a row here; only a full segment that cannot split needs them to be its own.
    bool room = pool_->has_room(table.is_full(hash) ? SparseTable::segment_bytes : 0);
    for (auto left = room ? 0 : segments(); !room && left > 0; --left) {
      auto const [at_table, at_segment] = hand_.move(tables_.all());
      room = evict(*at_table, at_segment, first);
    }
    if (room && table.is_full(hash) && !arena_->has_room(SparseTable::segment_bytes)) {
      room = evict(table, table.segment_index(hash), first);
    }
    if (room) return;
    throw Error(Errc::table_memory, "table '", spec_.name,
                "' has no room for another row: the tables of this thread are at ", arena_->bytes() >> 20,
                " MiB of their ceiling of ", arena_->ceiling() >> 20, " MiB, this one with ", rows(),
                " rows, of which none may go by its eviction policy '", name_of(spec_.eviction),
                "': raise the ceiling, choose another policy, or use more servers");
  }

  /// Whether rows of the segment went.
  bool evict(SparseTable const& table, std::size_t segment, std::size_t first) {
    auto const victims = choose_victims(table, segment, first, spec_, layout_);
    for (auto const key : victims) erase(hash_key(key), key);
    evicted_ += victims.size();
    return !victims.empty();
  }

  /// How many there are to look for rows that may go.
  [[nodiscard]] std::size_t segments() const noexcept {
    std::size_t sum = 0;
    if (spec_.eviction == Eviction::none) return sum;
    for (auto const& each : tables_.all()) sum += each.segments();
    return sum;
  }

  void shrink_segment(SparseTable& table, std::size_t segment) {
    doomed_.clear();
    table.for_each_in(segment, [&](Key key, MarkedRow& row) {
      auto known = layout_.statistics(row.row());
      if (!outlives(spec_.statistics, counters_.day, known)) {
        doomed_.push_back(key);
      } else if (spec_.statistics.decay != 1) {
        cut_.before_change(table, hash_key(key), key, row);
        row.mark(marks_of(cut_.epoch(), row.used()));
        layout_.set_statistics(row.row(), known);
      }
    });
    for (auto const key : doomed_) erase(hash_key(key), key);
    evicted_ += doomed_.size();
  }

  /// The row of `key`, free to be changed: `found` is what a search gave a while ago.
  [[nodiscard]] float* to_change(MarkedRow found, std::uint64_t hash, Key key) {
    if (!found) return find_or_insert(hash, key);
    if (((found.word ^ marks_) & ~MarkedRow::address_bits) != 0) note_change(hash, key);
    return found.row();
  }

  void note_change(std::uint64_t hash, Key key) {
    auto& table = tables_.of(hash);
    auto& row = table.marks(hash, key);
    cut_.before_change(table, hash, key, row);
    row.mark(marks_);
  }

  void erase(std::uint64_t hash, Key key) {
    auto& table = tables_.of(hash);
    cut_.before_change(table, hash, key, table.marks(hash, key));
    cut_.removed().erased(key);
    table.erase(hash, key);
  }

  /// For a key that had no row where its block was looked up. It may have one all the same: when it stands twice in
  /// there, or when its segment has split since and the row has moved to the other half.
  [[nodiscard]] float* find_or_insert(std::uint64_t hash, Key key) {
    auto& table = tables_.of(hash);
    if (auto const row = table.find(hash, key)) return to_change(row, hash, key);
    auto* const row = table.insert(hash, key, marks_of(cut_.epoch()));
    cut_.removed().inserted(key);
    if (codec_.expand == nullptr) {
      fill_first(spec_.init, stream_, key, {row, spec_.dim});
      write_first_state(spec_.optimizer, row, spec_.dim);
    } else {
      fill_first(spec_.init, stream_, key, {scratch_.data(), spec_.dim});
      write_first_state(spec_.optimizer, scratch_.data(), spec_.dim);
      store_wide(row, mix(stream_ ^ hash));
    }
    return row;
  }

  SparseSpec spec_;
  RowKernel kernel_;
  std::uint64_t stream_;
  RowLayout layout_;
  std::size_t row_bytes_;
  HalfCodec codec_{};  ///< of nothing when rows are fp32
  Arena* arena_;
  std::unique_ptr<RowPool> pool_;
  ShardTables tables_;
  AdmissionFilters filters_;
  SparseCut cut_;
  std::uint64_t marks_ = 0;
  ShardCounters counters_;
  std::uint64_t evicted_ = 0;
  ShrinkPass shrink_;
  EvictionHand hand_;
  RowMerger merger_;
  std::vector<float> scratch_;  ///< a row in floats; this and the next are kept for their memory
  std::vector<Key> doomed_;     ///< keys that are taken away
};

}  // namespace prdist
