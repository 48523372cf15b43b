#include <prdist/trainer/cut_wish.hpp>

#include <gtest/gtest.h>

using namespace prdist;

namespace {

Header answer(std::uint32_t number, std::uint64_t step, std::uint32_t flags = 0) {
  Header header;
  header.remaining_ms = number;
  header.sequence = step;
  header.flags = flags;
  return header;
}

}  // namespace

TEST(CutWish, IsHeardUntilItIsMet) {
  CutWish wish;
  EXPECT_FALSE(wish.wanted());
  wish.hear(answer(1, 9));
  ASSERT_TRUE(wish.wanted());
  EXPECT_EQ(wish.wanted()->number, 1U);
  EXPECT_EQ(wish.wanted()->step, 9U);
  EXPECT_FALSE(wish.wanted()->stop);
  wish.hear(answer(1, 9, flag_stop));
  EXPECT_TRUE(wish.wanted()->stop);
  wish.met(1);
  EXPECT_FALSE(wish.wanted());
  wish.hear(answer(1, 9));  // an answer that was made before
  EXPECT_FALSE(wish.wanted());
  wish.hear(answer(2, 20));
  EXPECT_EQ(wish.wanted()->number, 2U);
}

TEST(CutWish, KnowsThatAServerEnds) {
  CutWish wish;
  EXPECT_FALSE(wish.server_ends());
  wish.hear(answer(0, 0, flag_stop));
  EXPECT_TRUE(wish.server_ends());
  EXPECT_FALSE(wish.wanted());
  EXPECT_FALSE(wish.job_stopped());
  wish.hear(answer(0, 0, flag_stopped));
  EXPECT_TRUE(wish.job_stopped());
}

// A server of several ports answers on each of them.
TEST(CutWish, AnAnswerThatWasOvertakenTakesNothingBack) {
  CutWish wish;
  Header late;
  late.kind = Kind::reply;
  late.remaining_ms = 2;
  Header newer = late;
  newer.flags = flag_stop;
  Header older = late;
  older.remaining_ms = 1;
  wish.hear(newer);
  wish.hear(late);
  EXPECT_TRUE(wish.wanted()->stop);
  wish.hear(older);
  EXPECT_EQ(wish.wanted()->number, 2U);
}
