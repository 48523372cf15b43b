#include <prdist/data/slot_format.hpp>

#include <gtest/gtest.h>

#include "error_text.hpp"

using namespace prdist;

TEST(SlotFormat, DefaultIsCriteo) {
  auto const parsed = parse_slot_format("click 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26",
                                        "dense_feature:13");
  EXPECT_EQ(parsed.value(), SlotFormat{});
  EXPECT_EQ(SlotFormat{}.dense_dim(), 13U);
  EXPECT_EQ(SlotFormat{}.sparse.size(), 26U);
}

TEST(SlotFormat, TakesSeveralDenseSlotsOrNone) {
  auto const several = parse_slot_format("label a  b", " age:1 \t scores:4 ").value();
  EXPECT_EQ(several.label, "label");
  EXPECT_EQ(several.sparse, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(several.dense, (std::vector<DenseSlot>{{"age", 1}, {"scores", 4}}));
  EXPECT_EQ(several.dense_dim(), 5U);
  EXPECT_EQ(parse_slot_format("label a", "").value().dense_dim(), 0U);
}

TEST(SlotFormat, SaysWhatIsWrongWithAConfiguration) {
  auto const complaint = [](std::string_view sparse, std::string_view dense) {
    return error_of([&] { (void)parse_slot_format(sparse, dense).value(); });
  };
  EXPECT_EQ(complaint(" ", "d:1"),
            "prdist[config.missing] sparse_slots is empty: list the label first, then the slots, as in 'click 1 2 3'");
  EXPECT_EQ(complaint("click 1 2 1", ""),
            "prdist[config.invalid] slot '1' stands twice in sparse_slots and dense_slots: name every slot once");
  EXPECT_EQ(complaint("click 1 2", "2:4"),
            "prdist[config.invalid] slot '2' stands twice in sparse_slots and dense_slots: name every slot once");
  EXPECT_EQ(
      complaint("click a:1", ""),
      "prdist[config.invalid] sparse_slots, 'a:1' has a colon, which ends a name in a line: write the name alone");
  for (auto const* const wrong : {"d", "d:", "d:0", "d:x", "d:-1", ":3"}) {
    EXPECT_EQ(complaint("click 1", wrong), std::string("prdist[config.invalid] dense_slots, '") + wrong +
                                               "' is not name:dim: write how many values it has, as in "
                                               "'dense_feature:13'");
  }
}
