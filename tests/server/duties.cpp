#include <prdist/server/duties.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using What = Duties::Answer::What;

TEST(Duties, TheFirstHasItAndAllHearWhatCameOfIt) {
  Duties duties;
  EXPECT_EQ(duties.ask("load", 2).what, What::yours);
  EXPECT_EQ(duties.ask("load", 2).what, What::yours);
  EXPECT_EQ(duties.ask("load", 0).what, What::taken);
  EXPECT_EQ(duties.ask("load", 0).holder, 2U);
  EXPECT_EQ(duties.ask("measure", 0).what, What::yours);
  ASSERT_TRUE(duties.finish("load", 2, "step 7"));
  EXPECT_EQ(duties.ask("load", 0).what, What::done);
  EXPECT_EQ(duties.ask("load", 2).text, "step 7");
}

TEST(Duties, OneThatIsGoneLeavesItToTheNext) {
  Duties duties;
  EXPECT_EQ(duties.ask("load", 0).what, What::yours);
  ASSERT_TRUE(duties.finish("load", 0, "x"));
  EXPECT_EQ(duties.ask("measure", 0).what, What::yours);
  duties.release(0);
  EXPECT_EQ(duties.ask("measure", 1).what, What::yours);
  EXPECT_EQ(duties.ask("load", 1).what, What::done) << "what is done stays done";
}

TEST(Duties, MayBeGivenUp) {
  Duties duties;
  EXPECT_EQ(duties.ask("write", 0).what, What::yours);
  duties.give_up("write", 1);
  EXPECT_EQ(duties.ask("write", 1).what, What::taken);
  duties.give_up("write", 0);
  EXPECT_EQ(duties.ask("write", 1).what, What::yours);
  ASSERT_TRUE(duties.finish("write", 1, ""));
  duties.give_up("write", 1);
  EXPECT_EQ(duties.ask("write", 0).what, What::done);
}

TEST(Duties, NobodyEndsWhatIsNotItsOwn) {
  Duties duties;
  EXPECT_EQ(duties.ask("load", 0).what, What::yours);
  EXPECT_EQ(duties.finish("load", 1, "").error().message(),
            "trainer 1 has done 'load', which is not its own: ask first");
  ASSERT_TRUE(duties.finish("load", 0, ""));
  EXPECT_FALSE(duties.finish("load", 0, ""));
  EXPECT_FALSE(duties.finish("other", 0, ""));
}
