#include <prdist/table/eviction.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace prdist;

namespace {

struct Segment {
  explicit Segment(SparseSpec it) : spec(std::move(it)) {
    for (Key key = 1; key <= 160; ++key) {
      auto* const row = table.insert(hash_key(key), key, marks_of(1, key > 100));
      layout.set_statistics(row, {.show = static_cast<float>(key % 50), .click = 0, .delta_score = 0, .day = 9});
      if (key % 40 == 0) layout.set_statistics(row, {.show = 100, .click = 0, .delta_score = 0, .day = 2});
    }
  }
  std::set<Key> victims() const {
    auto const keys = choose_victims(table, 0, 5, spec, layout);
    return {keys.begin(), keys.end()};
  }
  SparseSpec spec;
  RowLayout layout{spec};
  Arena arena{};
  RowPool pool{arena, layout.bytes()};
  SparseTable table{arena, pool, 0};
};

SparseSpec spec_of(Eviction eviction) {
  return {.name = "t", .dim = 1, .statistics = {.kept = true}, .eviction = eviction};
}

}  // namespace

TEST(Eviction, NobodyGoesWithoutAPolicy) {
  EXPECT_TRUE(Segment(spec_of(Eviction::none)).victims().empty());
}

TEST(Eviction, ThoseNotPushedLatelyGoFirst) {
  Segment segment(spec_of(Eviction::lru));
  auto const first = segment.victims();
  EXPECT_EQ(first.size(), 11U);
  for (auto const key : first) EXPECT_LE(key, 100U) << "those above were pushed";
  // When all were pushed, all lose the mark, and somebody goes.
  for (Key key = 1; key <= 100; ++key) segment.table.erase(hash_key(key), key);
  segment.table.for_each_in(0, [](Key, MarkedRow& row) { row.mark(marks_of(1, true)); });
  EXPECT_EQ(segment.victims().size(), 4U);
  segment.table.for_each_in(0, [](Key key, MarkedRow const& row) { EXPECT_FALSE(row.used()) << key; });
}

TEST(Eviction, TheLongestUnseenGoFirst) {
  auto const gone = Segment(spec_of(Eviction::unseen)).victims();
  for (Key const key : {40U, 80U, 120U, 160U}) EXPECT_TRUE(gone.contains(key));
}

TEST(Eviction, TheSmallestScoresGoFirst) {
  auto const gone = Segment(spec_of(Eviction::score)).victims();
  for (Key const key : {50U, 100U, 150U, 1U, 51U, 101U, 151U, 2U}) EXPECT_TRUE(gone.contains(key)) << key;
  for (Key const key : {40U, 80U}) EXPECT_FALSE(gone.contains(key)) << key;
}

TEST(Eviction, AnEmptySegmentHasNobodyToGo) {
  Arena arena;
  auto const spec = spec_of(Eviction::lru);
  RowLayout const layout(spec);
  RowPool pool(arena, layout.bytes());
  SparseTable const table(arena, pool, 0);
  EXPECT_TRUE(choose_victims(table, 0, 5, spec, layout).empty());
}
