#include <prdist/server/cut_call.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(CutCall, TellsNothingUntilAsked) {
  CutCall call;
  Header header;
  header.remaining_ms = 5;
  header.flags = flag_last | flag_stop;
  call.tell(header);
  EXPECT_EQ(header.remaining_ms, 0U);
  EXPECT_EQ(header.flags, flag_last);  // others' flags are left alone
}

TEST(CutCall, OfAServerThatEndsAsksForAStopWithoutANumber) {
  CutCall call;
  call.end_soon();
  Header header;
  call.tell(header);
  EXPECT_EQ(header.remaining_ms, 0U);
  EXPECT_EQ(header.flags, flag_stop);
}

TEST(CutCall, TellsNumberStepAndStopUntilEverybodyHasMet) {
  CutCall call;
  EXPECT_FALSE(call.wanted());
  EXPECT_EQ(call.ask(10, false), 1U);
  EXPECT_TRUE(call.wanted());
  EXPECT_EQ(call.ask(12, false), 1U);  // the first wish stands
  Header header;
  call.tell(header);
  EXPECT_EQ(header.remaining_ms, 1U);
  EXPECT_EQ(header.sequence, 10U);
  EXPECT_EQ(header.flags, 0U);
  EXPECT_EQ(call.ask(12, true), 1U);  // but an end is added to it
  call.tell(header);
  EXPECT_EQ(header.flags, flag_stop);
  EXPECT_EQ(header.sequence, 10U);
  call.met(7, true);  // not this one
  call.tell(header);
  EXPECT_EQ(header.remaining_ms, 1U);
  call.met(1, true);
  call.tell(header);
  EXPECT_EQ(header.remaining_ms, 0U);
  EXPECT_EQ(header.flags, flag_stopped);  // who had finished before is to hear of it
  EXPECT_EQ(call.ask(20, false), 2U);
  call.tell(header);
  EXPECT_EQ(header.flags, flag_stopped);
}

// An end may come to a wish that is open: whether training has ended with it is known by those who met.
TEST(CutCall, HasStoppedWhenThoseWhoMetSaySo) {
  for (bool const stopped : {false, true}) {
    CutCall call;
    EXPECT_EQ(call.ask(10, false), 1U);
    call.end_soon();
    Header header;
    call.tell(header);
    EXPECT_EQ(header.remaining_ms, 1U);
    EXPECT_EQ(header.flags, flag_stop);
    call.met(1, stopped);
    call.tell(header);
    EXPECT_EQ(header.flags, flag_stop | (stopped ? flag_stopped : 0));
  }
}
