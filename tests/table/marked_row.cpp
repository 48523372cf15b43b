#include <prdist/table/marked_row.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace prdist;

TEST(MarkedRow, AddressAndMarksDoNotTouchEachOther) {
  std::vector<double> memory(4);
  auto* const address = reinterpret_cast<float*>(&memory[1]);
  for (CutEpoch const epoch : {CutEpoch{0}, CutEpoch{1}, CutEpoch{0x8001}, CutEpoch{0xffff}}) {
    for (bool const used : {false, true}) {
      MarkedRow row(address, marks_of(epoch, used));
      EXPECT_TRUE(row);
      EXPECT_EQ(row.row(), address);
      EXPECT_EQ(row.changed(), epoch);
      EXPECT_EQ(row.used(), used);
      row.mark(marks_of(7, !used));
      EXPECT_EQ(row.row(), address);
      EXPECT_EQ(row.changed(), 7);
      EXPECT_EQ(row.used(), !used);
    }
  }
}

TEST(MarkedRow, IsNoRowAtFirst) {
  EXPECT_FALSE(MarkedRow{});
  EXPECT_EQ(MarkedRow{}.row(), nullptr);
}
