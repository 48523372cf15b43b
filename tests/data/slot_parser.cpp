#include <prdist/data/slot_parser.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <prdist/data/counter_random.hpp>

using namespace prdist;
using namespace std::literals;

namespace {

SlotFormat small() {
  return {.label = "click", .dense = {{"x", 2}}, .sparse = {"a", "b", "c"}};
}

struct Parsed {
  Batch batch;
  std::optional<LineFault> fault;
};

Parsed parse(std::string_view line, std::optional<Key> padding = 0) {
  SlotParser parser(small(), padding);
  Parsed parsed;
  parser.shape(parsed.batch);
  parsed.fault = parser.parse(line, parsed.batch);
  return parsed;
}

using Keys = std::vector<Key>;
using Offsets = std::vector<std::uint32_t>;

}  // namespace

TEST(SlotParser, ReadsLabelDenseAndIds) {
  auto const [batch, fault] = parse("click:1 x:0.5 x:-2e-3 a:7 b:18446744073709551615 c:0");
  ASSERT_FALSE(fault);
  EXPECT_EQ(batch.labels, std::vector<float>{1});
  EXPECT_EQ(batch.dense, (std::vector<float>{0.5F, -2e-3F}));
  EXPECT_EQ(batch.keys, (Keys{7, std::numeric_limits<Key>::max(), 0}));
  EXPECT_EQ(batch.offsets, (Offsets{0, 1, 2, 3}));
}

TEST(SlotParser, TakesFieldsInAnyOrderBetweenAnyBlanks) {
  auto const [batch, fault] = parse("  b:2\tx:1   c:3 x:2 a:1 click:0 ");
  ASSERT_FALSE(fault);
  EXPECT_EQ(batch.labels, std::vector<float>{0});
  EXPECT_EQ(batch.dense, (std::vector<float>{1, 2}));
  EXPECT_EQ(batch.keys, (Keys{1, 2, 3}));
}

TEST(SlotParser, ARepeatedSlotHasSeveralIdsInTheOrderOfTheLine) {
  auto const [batch, fault] = parse("click:1 b:9 a:5 x:1 x:2 b:3 c:1 b:9");
  ASSERT_FALSE(fault);
  EXPECT_EQ(batch.keys, (Keys{5, 9, 3, 9, 1}));
  EXPECT_EQ(batch.offsets, (Offsets{0, 1, 4, 5}));
}

TEST(SlotParser, AMissingSlotGetsThePaddingKeyOrStaysEmpty) {
  EXPECT_EQ(parse("click:1 x:1 x:2 b:4").batch.keys, (Keys{0, 4, 0}));
  EXPECT_EQ(parse("click:1 x:1 x:2 b:4", 77).batch.keys, (Keys{77, 4, 77}));
  auto const empty = parse("click:1 x:1 x:2 b:4", std::nullopt).batch;
  EXPECT_EQ(empty.keys, Keys{4});
  EXPECT_EQ(empty.offsets, (Offsets{0, 0, 1, 1}));
}

TEST(SlotParser, CountsTheLinesThatDoNotNameASlot) {
  SlotParser parser(small());
  Batch batch;
  parser.shape(batch);
  EXPECT_FALSE(parser.parse("click:1 x:1 x:2 b:4", batch));
  EXPECT_FALSE(parser.parse("click:1 x:1 x:2 b:4 a:1", batch));
  EXPECT_EQ(parser.missing(), (std::vector<std::uint64_t>{1, 0, 2}));
}

TEST(SlotParser, AMissingDenseSlotIsZeros) {
  EXPECT_EQ(parse("click:1 a:1").batch.dense, (std::vector<float>{0, 0}));
}

TEST(SlotParser, PassesOverUnknownSlots) {
  auto const [batch, fault] = parse("id:abc click:1 xx:3 x:1 ab:5 x:2 a:1 b:2 d:9 c:3");
  ASSERT_FALSE(fault);
  EXPECT_EQ(batch.keys, (Keys{1, 2, 3}));
}

TEST(SlotParser, ANumberTooSmallForAFloatIsZero) {
  auto const [batch, fault] = parse("click:1 x:1e-60 x:-1e-60 a:1");
  ASSERT_FALSE(fault);
  EXPECT_EQ(batch.dense, (std::vector<float>{0, 0}));
}

TEST(SlotParser, RefusesALineByFieldValueAndCause) {
  struct Case {
    std::string_view line;
    std::size_t field;
    std::string_view text, what;
  };
  constexpr std::string_view not_an_id = "not an id, a whole number from 0 to 2^64 - 1";
  for (auto const& [line, field, text, what] : {
           Case{"click:1 x:1 x:abc a:1", 3, "x:abc", "not a number"},
           Case{"click:1 x:1 x: a:1", 3, "x:", "not a number"},
           Case{"click:1 x:1 x:1.5z a:1", 3, "x:1.5z", "not a number"},
           Case{"click:1 x:1 x:nan a:1", 3, "x:nan", "not a finite number"},
           Case{"click:1 x:1 x:inf a:1", 3, "x:inf", "not a finite number"},
           Case{"click:1 x:1 x:1e39 a:1", 3, "x:1e39", "not a finite number"},
           Case{"click:1 x:1e999 x:1 a:1", 2, "x:1e999", "out of range"},
           Case{"click:1 x:1 x:2 x:3 a:1", 4, "x:3", "more than the 2 values of its slot"},
           Case{"click:1 x:1 a:1", 0, "", "1 of the 2 values of 'x'"},
           Case{"click:1 x:1 x:2 a:-1", 4, "a:-1", not_an_id},
           Case{"click:1 x:1 x:2 a:1.5", 4, "a:1.5", not_an_id},
           Case{"click:1 x:1 x:2 a:", 4, "a:", not_an_id},
           Case{"click:1 x:1 x:2 a:0x1f", 4, "a:0x1f", not_an_id},
           Case{"click:1 x:1 x:2 a:18446744073709551616", 4, "a:18446744073709551616", "out of range"},
           Case{"click:2 x:1 x:2 a:1", 1, "click:2", "a label is 0 or 1"},
           Case{"click:yes x:1 x:2 a:1", 1, "click:yes", "not a number"},
           Case{"click:1 click:0 x:1 x:2", 2, "click:0", "a second label"},
           Case{"x:1 x:2 a:1", 0, "", "no label 'click'"},
           Case{"click:1 x:1 x:2 stray a:1", 4, "stray", "not name:value"},
           Case{"1\t0.5\t68fd1e64", 1, "1", "not name:value"},
       }) {
    auto const [batch, fault] = parse(line);
    ASSERT_TRUE(fault) << line;
    EXPECT_EQ(fault->field, field) << line;
    EXPECT_EQ(fault->text, text) << line;
    EXPECT_EQ(fault->what, what) << line;
  }
}

TEST(SlotParser, ARefusedLineLeavesTheBatchAsItWas) {
  SlotParser parser(small());
  Batch batch;
  parser.shape(batch);
  ASSERT_FALSE(parser.parse("click:1 x:1 x:2 a:1 b:2 c:3", batch));
  auto const before = batch;
  ASSERT_TRUE(parser.parse("click:1 x:1 x:2 a:1 b:2 c:oops", batch));
  ASSERT_TRUE(parser.parse("click:1 x:1", batch));
  EXPECT_EQ(batch, before);
  ASSERT_FALSE(parser.parse("click:0 x:3 x:4 a:4 b:5 c:6", batch));
  EXPECT_EQ(batch.dense, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(batch.keys, (Keys{1, 2, 3, 4, 5, 6}));
}

TEST(SlotParser, AnOrderThatChangesFromLineToLineIsReadRight) {
  SlotParser parser(small());
  Batch batch;
  parser.shape(batch);
  ASSERT_FALSE(parser.parse("click:1 x:1 x:2 a:1 b:2 c:3", batch));
  ASSERT_FALSE(parser.parse("c:6 b:5 a:4 x:3 x:4 click:0", batch));
  ASSERT_FALSE(parser.parse("click:1 aa:1 x:1 x:2 a:1 b:2 c:3", batch));
  EXPECT_EQ(batch.labels, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(batch.keys, (Keys{1, 2, 3, 4, 5, 6, 1, 2, 3}));
}

TEST(SlotParser, DamageOfAnyKindIsReadOrRefusedAndNothingElse) {
  std::string_view const whole = "click:1 x:0.5 x:-2e-3 a:7 b:18446744073709551615 b:3 c:0";
  auto const bits = "0123456789:. \t-+eEabcxinfclik\r\0\xff"sv;
  CounterRandom const random(11);
  SlotParser parser(small());
  Batch batch;
  parser.shape(batch);
  std::size_t draw = 0, refused = 0;
  for (std::size_t round = 0; round < 20000; ++round) {
    std::string line(whole.substr(0, 1 + random.below(draw++, whole.size())));
    if (round % 2 == 0) line = whole;
    for (std::size_t hits = 1 + random.below(draw++, 3); hits > 0; --hits) {
      auto const at = random.below(draw++, line.size());
      auto const with = bits[random.below(draw++, bits.size())];
      switch (random.below(draw++, 3)) {
        case 0: line[at] = with; break;
        case 1: line.insert(at, 1, with); break;
        default: line.erase(at, 1); break;
      }
      if (line.empty()) line = "x";
    }
    auto const before = batch.size();
    if (auto const fault = parser.parse(line, batch)) {
      ++refused;
      EXPECT_FALSE(fault->what.empty());
      ASSERT_EQ(batch.size(), before);
    } else {
      ASSERT_EQ(batch.size(), before + 1);
    }
    ASSERT_EQ(batch.dense.size(), batch.size() * 2);
    ASSERT_EQ(batch.offsets.size(), batch.size() * 3 + 1);
    ASSERT_EQ(batch.offsets.back(), batch.keys.size());
  }
  EXPECT_GT(refused, 5000U);
  EXPECT_GT(batch.size(), 1000U);
}
