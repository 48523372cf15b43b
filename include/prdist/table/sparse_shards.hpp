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
#include <prdist/table/admission.hpp>
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
#include <prdist/table/shard_tables.hpp>
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
        merger_(spec_.dim, spec_.statistics.kept) {
    if (spec_.precision != Precision::fp32) {
      codec_ = half_codec(spec_.precision);
      scratch_.resize(row_floats(spec_.optimizer, spec_.dim));
    }
    if (spec_.admission.kind != Admission::Kind::all) {
      for (std::size_t i = 0; i < tables_.all().size(); ++i) filters_.emplace_back(arena, spec_.admission, stream_);
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
    while (advance_shrink(std::numeric_limits<std::size_t>::max())) {
    }
    today_ = day;
    sweep_ = Sweep{static_cast<std::uint16_t>(sweep_.number + 1), 0, 0};
  }

  /// About `rows` rows more; false when all are through. A row pushed before its turn decays after that push.
  bool advance_shrink(std::size_t rows) {
    if (!spec_.statistics.kept) return false;
    std::size_t done = 0;
    for (; sweep_.table < tables_.all().size(); ++sweep_.table, sweep_.segment = 0) {
      auto& table = tables_.all()[sweep_.table];
      for (; sweep_.segment < table.segments(); ++sweep_.segment) {
        if (done >= rows) return true;
        if (std::exchange(table.sweep_of(sweep_.segment), sweep_.number) == sweep_.number) continue;
        done += table.rows_in(sweep_.segment) + 1;
        shrink_segment(table, sweep_.segment);
      }
    }
    return false;
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
      auto const& [table, segment] = move_hand();
      done += tables_.all()[table].rows_in(segment) + 1;
      (void)evict(tables_.all()[table], segment, SparseTable::home(mix(evicted_)));
    }
    return false;
  }

  /// Rows that a shrink or the memory ceiling has taken away.
  [[nodiscard]] std::uint64_t evicted() const noexcept { return evicted_; }

  // The cuts of this table, as ShardGroup describes them.
  void begin_cut(CutKind kind, GuardedSink& sink, TableId table) {
    cut_.begin(kind, sink, table, row_bytes_, tables_.all());
    renew_marks();
  }
  bool advance_cut(std::size_t rows) { return cut_.advance(rows, tables_.all(), tables_.shards()); }
  void keep_cut() { cut_.keep(); }
  void cancel_cut() { cut_.cancel(); }
  [[nodiscard]] std::size_t noted_bytes() const noexcept { return cut_.removed().bytes(); }

  /// Inserts or overwrites the rows of a block, or takes them away when it says so; keys of other shards are passed
  /// over. @throws Error table.shape, table.memory
  void load(RowBlock const& block) {
    check_shape(spec_.name, block, row_bytes_);
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const key = block.keys[i];
      auto const hash = hash_key(key);
      if (!tables_.owns(hash)) continue;
      auto const row = tables_.of(hash).find(hash, key);
      if (!block.removed) {
        if (!row) make_room(tables_.of(hash), hash);
        std::memcpy(to_change(row, hash, key), block.rows.data() + i * row_bytes_, row_bytes_);
      } else if (row) {
        erase(hash, key);
      }
    }
  }

  /// Takes every row away.
  void clear() {
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

  /// How far a shrink has come.
  struct Sweep {
    std::uint16_t number;
    std::size_t table;
    std::size_t segment;
  };

  /// What a row looks like that needs nothing noted before it changes.
  void renew_marks() { marks_ = marks_of(cut_.epoch(), spec_.eviction == Eviction::lru); }

  /// Whether rows are floats that the kernels may change in place, and none goes away meanwhile.
  [[nodiscard]] bool is_plain() const noexcept {
    if (!filters_.empty() || codec_.expand != nullptr || spec_.statistics.kept) return false;
    auto const per_key = SparseTable::segment_bytes + std::max(RowPool::slab_bytes, row_bytes_ + 64);
    return arena_->ceiling() == Arena::most || arena_->has_room(block_keys * per_key);
  }

  /// `distinct` when no key is there twice.
  void push_all(std::span<Key const> keys, std::span<float const> gradients, std::span<float const> show_click,
                bool distinct) {
    ++pushes_;
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
          auto const sighting = mix(pushes_ * 0x9e3779b97f4a7c15ULL + (distinct ? 0 : position));
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
      if (!filters_.empty() && !filters_[tables_.index_of(hash)].admits(hash, key, sighting)) return;
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
    known.day = today_;
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
    bool room = pool_->has_room();
    for (auto left = room ? 0 : segments(); !room && left > 0; --left) {
      auto const& [at_table, at_segment] = move_hand();
      room = evict(tables_.all()[at_table], at_segment, first);
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

  /// To the next segment; rows go from one after the other.
  std::pair<std::size_t, std::size_t> const& move_hand() {
    auto& [table, segment] = hand_;
    if (++segment >= tables_.all()[table].segments()) {
      segment = 0;
      table = (table + 1) % tables_.all().size();
    }
    return hand_;
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
    auto const& policy = spec_.statistics;
    doomed_.clear();
    table.for_each_in(segment, [&](Key key, MarkedRow& row) {
      auto known = layout_.statistics(row.row());
      auto const unseen = today_ > known.day ? today_ - known.day : 0;
      auto const decayed = score_of(policy, known.show * policy.decay, known.click * policy.decay);
      if (decayed < policy.delete_below || unseen > policy.unseen_days) {
        doomed_.push_back(key);
      } else if (policy.decay != 1) {
        cut_.before_change(table, hash_key(key), key, row);
        row.mark(marks_of(cut_.epoch(), row.used()));
        known.show *= policy.decay;
        known.click *= policy.decay;
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

  /// For a key that had no row when its block was looked up; it may stand twice in there.
  [[nodiscard]] float* find_or_insert(std::uint64_t hash, Key key) {
    auto& table = tables_.of(hash);
    if (auto const row = table.find(hash, key)) return row.row();
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
  std::vector<AdmissionFilter> filters_;  ///< one for each of them, or none
  SparseCut cut_;
  std::uint64_t marks_ = 0;
  std::uint64_t pushes_ = 0;
  std::uint64_t evicted_ = 0;
  std::uint32_t today_ = 0;
  Sweep sweep_{0, shard_count, 0};
  std::pair<std::size_t, std::size_t> hand_{0, 0};  ///< table and segment where rows were last evicted
  RowMerger merger_;
  // Work space, kept for its memory: a row in floats, keys that are taken away.
  std::vector<float> scratch_;
  std::vector<Key> doomed_;
};

}  // namespace prdist
