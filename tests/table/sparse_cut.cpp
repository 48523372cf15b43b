#include <prdist/table/sparse_cut.hpp>

#include <gtest/gtest.h>

#include <bitset>
#include <memory>
#include <set>
#include <vector>

#include <prdist/table/sparse_shards.hpp>

#include "../support/random.hpp"
#include "cut_support.hpp"

using namespace prdist;
using test::Collector;
using test::Random;
using test::RowMap;

namespace {

constexpr TableId id = 3;
constexpr std::size_t dim = 3;

struct Table {
  Arena arena{};
  SparseShards rows{arena,
                    {.name = "t", .dim = dim, .optimizer = Adagrad{}, .init = Initializer::uniform(-1, 1)},
                    std::bitset<shard_count>().set()};

  void push(std::vector<Key> const& keys, std::vector<float> const& gradients) { rows.push(keys, gradients); }
  void remove(std::vector<Key> keys) {
    RowBlock block;
    block.kind = BlockKind::removed;
    block.keys = std::move(keys);
    rows.load(block);
  }
  void load(std::vector<RowBlock> const& blocks) {
    for (auto const& block : blocks) rows.load(block);
  }
  RowMap copy() const {
    RowMap all;
    rows.for_each([&](Key key, float const* row) {
      auto const* const bytes = reinterpret_cast<std::byte const*>(row);
      all[key] = {bytes, bytes + row_floats(rows.spec().optimizer, dim) * sizeof(float)};
    });
    return all;
  }
};

/// A cut at once.
std::vector<RowBlock> cut_of(Table& table, CutKind kind, bool keep = true) {
  Collector sink;
  GuardedSink guarded(sink);
  table.rows.begin_cut(kind, guarded, id);
  while (table.rows.advance_cut(1000)) {
  }
  keep ? table.rows.keep_cut() : table.rows.cancel_cut();
  return std::move(sink.blocks);
}

std::vector<Key> some_keys(Random& random, std::size_t count, std::size_t distinct) {
  std::vector<Key> keys(count);
  for (auto& key : keys) key = random.below(distinct);
  return keys;
}

void change(Table& table, Random& random, std::size_t distinct) {
  auto const keys = some_keys(random, random.below(60), distinct);
  table.push(keys, random.numbers(keys.size() * dim));
  if (random.below(3) == 0) table.remove(some_keys(random, random.below(20), distinct));
}

}  // namespace

// Cuts at random moments, handed out in random slices among pushes and removals, some abandoned on the way: what was
// kept, loaded in order, is at each kept marker the table as it was.
TEST(SparseCut, KeptCutsLoadedInOrderAreTheTableAtTheMarker) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    std::size_t const distinct = seed % 3 == 0 ? 200 : 20000;
    auto table = std::make_unique<Table>();
    auto loaded = std::make_unique<Table>();
    int kept = 0;
    for (int round = 0; round < 25; ++round) {
      for (auto n = random.below(6); n > 0; --n) change(*table, random, distinct);
      auto const kind = kept == 0 || random.below(8) == 0 ? CutKind::full : CutKind::changed;
      Collector sink;
      GuardedSink guarded(sink);
      auto const at_marker = table->copy();
      table->rows.begin_cut(kind, guarded, id);
      bool const abandon = random.below(3) == 0;
      auto slices = abandon ? random.below(20) : ~std::size_t{0};
      bool complete = false;
      for (; !complete && slices > 0; --slices) {
        if (random.below(2) == 0) change(*table, random, distinct);
        complete = !table->rows.advance_cut(random.below(900));
      }
      for (auto n = random.below(3); n > 0; --n) change(*table, random, distinct);
      if (abandon) {
        table->rows.cancel_cut();
        continue;
      }
      table->rows.keep_cut();
      ++kept;
      if (kind == CutKind::full) loaded = std::make_unique<Table>();
      loaded->load(sink.blocks);
      auto const rows = test::rows_in(sink.blocks, id);
      if (kind == CutKind::full) {
        ASSERT_EQ(rows, at_marker);
      }
      ASSERT_EQ(loaded->copy(), at_marker) << "seed " << seed << ", round " << round;
    }
    EXPECT_GT(kept, 5);
  }
}

TEST(SparseCut, AChangedCutHoldsWhatChangedAndNoMore) {
  Table table;
  std::vector<Key> keys(5000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  table.push(keys, std::vector<float>(keys.size() * dim, 1.0F));
  EXPECT_EQ(test::rows_in(cut_of(table, CutKind::changed), id).size(), keys.size()) << "there is none to start from";
  EXPECT_TRUE(cut_of(table, CutKind::changed).empty());
  table.push({7, 8}, std::vector<float>(2 * dim, 1.0F));
  table.remove({9, 10});
  table.push({10}, std::vector<float>(dim, 1.0F));
  auto const abandoned = cut_of(table, CutKind::changed, false);
  auto const blocks = cut_of(table, CutKind::changed);
  auto const rows = test::rows_in(blocks, id);
  EXPECT_EQ(rows.size(), 3U);
  for (Key const key : {7U, 8U, 10U}) EXPECT_TRUE(rows.contains(key)) << key;
  EXPECT_EQ(test::removed_in(blocks, id), std::vector<Key>{9});
  EXPECT_EQ(test::rows_in(abandoned, id), rows) << "abandoning one changes nothing";
  EXPECT_TRUE(cut_of(table, CutKind::changed).empty());
  EXPECT_EQ(test::rows_in(cut_of(table, CutKind::full), id).size(), keys.size() - 1);
}

TEST(SparseCut, ACutThatIsNotCompleteIsNotKept) {
  Table table;
  table.push({1, 2, 3}, std::vector<float>(3 * dim, 1.0F));
  Collector sink;
  GuardedSink guarded(sink);
  table.rows.begin_cut(CutKind::full, guarded, id);
  EXPECT_TRUE(table.rows.advance_cut(1));
  table.rows.keep_cut();
  EXPECT_EQ(test::rows_in(cut_of(table, CutKind::changed), id).size(), 3U);
}

// The number of a marker has sixteen bits; more of them than that, some kept and some not, lose nothing.
TEST(SparseCut, EpochsMayRunOut) {
  Arena arena;
  RowPool pool(arena, sizeof(float));
  std::vector<SparseTable> tables;
  tables.emplace_back(arena, pool, 8);
  std::vector<std::uint16_t> const shards{0};
  SparseCut cut;
  Collector sink;
  GuardedSink guarded(sink);
  auto const change = [&](Key key) {
    auto const hash = hash_key(key);
    if (!tables[0].find(hash, key)) {
      tables[0].insert(hash, key, marks_of(cut.epoch()));
      return;
    }
    auto& row = tables[0].marks(hash, key);
    cut.before_change(tables[0], hash, key, row);
    row.mark(marks_of(cut.epoch()));
  };
  for (Key key = 0; key < 20; ++key) change(key);
  std::set<Key> changed;
  for (std::size_t i = 0; i < 140000; ++i) {
    if (i % 50000 == 17) changed.insert(i % 20), change(i % 20);
    sink.blocks.clear();
    cut.begin(CutKind::changed, guarded, id, sizeof(float), tables);
    while (cut.advance(100, tables, shards)) {
    }
    if (i == 0) {
      ASSERT_EQ(test::rows_in(sink.blocks, id).size(), 20U);
    } else {
      auto const rows = test::rows_in(sink.blocks, id);
      ASSERT_EQ(rows.size(), changed.size()) << "cut " << i;
      for (auto const key : changed) ASSERT_TRUE(rows.contains(key));
    }
    if (i == 0 || i % 1000 == 999) {
      cut.keep();
      changed.clear();
    } else {
      cut.cancel();
    }
  }
}
