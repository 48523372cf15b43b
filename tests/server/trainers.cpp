#include <prdist/server/trainers.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Trainers, ComeWorkAndStop) {
  Trainers trainers(2);
  EXPECT_EQ(trainers.expected(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(trainers.join(0, "a"));
  EXPECT_TRUE(trainers.join(1, "b"));
  EXPECT_EQ(trainers.here(), (std::vector<std::uint32_t>{0, 1}));
  trainers.leave(0);
  EXPECT_FALSE(trainers.lose(0));  // its connection ends after it has stopped: no loss
  EXPECT_FALSE(trainers.over());
  EXPECT_EQ(trainers.members(), std::set<std::uint32_t>{1});
  EXPECT_TRUE(trainers.lose(1));
  EXPECT_FALSE(trainers.lose(1));
  EXPECT_TRUE(trainers.over());
  EXPECT_EQ(trainers.lost(), std::vector<std::uint32_t>{1});
}

TEST(Trainers, RefusesWrongAndRepeatedIds) {
  Trainers trainers(2);
  EXPECT_EQ(trainers.join(2, "x").error().message(),
            "trainer 2 at x: this job has 2 trainers, numbered from 0: compare PADDLE_TRAINER_ID and "
            "PADDLE_TRAINERS_NUM");
  ASSERT_TRUE(trainers.join(0, "a"));
  EXPECT_EQ(trainers.join(0, "b").error().message(),
            "trainer 0 at b: a trainer with this id is already connected: give each its own PADDLE_TRAINER_ID");
  trainers.leave(0);
  EXPECT_EQ(trainers.join(0, "b").error().message(), "trainer 0 at b: it has already stopped: start the job anew");
  ASSERT_TRUE(trainers.join(1, "a"));
  ASSERT_TRUE(trainers.lose(1));
  EXPECT_EQ(trainers.join(1, "b").error().message(),
            "trainer 1 at b: it has already been given up: start the job anew");
}

TEST(Trainers, OneWithoutBatchesIsAMemberButNotInTraining) {
  Trainers trainers(2);
  ASSERT_TRUE(trainers.join(0, "a"));
  trainers.retire(0, "done");
  EXPECT_EQ(trainers.retired(), (std::map<std::uint32_t, std::string>{{0, "done"}}));
  EXPECT_EQ(trainers.members(), (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(trainers.training(), std::set<std::uint32_t>{1});
  trainers.leave(1);
  EXPECT_EQ(trainers.training(), std::set<std::uint32_t>{});
}

TEST(ListOf, SeparatesByCommas) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({3}), "3");
  EXPECT_EQ(list_of({0, 2, 5}), "0, 2, 5");
}

TEST(Trainers, HaveOneConnectionToEachPort) {
  Trainers trainers(1);
  EXPECT_EQ(trainers.join_link(0, 1, "x").error().message(),
            "trainer 0 at x: a connection for port 1 of a trainer that is not here: the one for port 0 comes first");
  EXPECT_FALSE(trainers.join_link(7, 1, "x"));
  ASSERT_TRUE(trainers.join(0, "a"));
  EXPECT_TRUE(trainers.join_link(0, 1, "a"));
  EXPECT_TRUE(trainers.join_link(0, 2, "a"));
  EXPECT_EQ(trainers.join_link(0, 1, "b").error().message(),
            "trainer 0 at b: it is already connected to port 1: give each trainer its own id");
  EXPECT_TRUE(trainers.lose(0));
  EXPECT_FALSE(trainers.join_link(0, 3, "a"));
}

TEST(ElasticTrainers, ComeAndGoUntilOneHasFinished) {
  Trainers trainers(2, Elastic{1, 4});
  EXPECT_EQ(trainers.count(), 4U);
  EXPECT_EQ(trainers.members(), std::set<std::uint32_t>{}) << "only who is there counts";
  ASSERT_TRUE(trainers.join(0, "a"));
  ASSERT_TRUE(trainers.join(3, "b")) << "an id that nobody had at the beginning";
  EXPECT_EQ(trainers.members(), (std::set<std::uint32_t>{0, 3}));
  trainers.leave(0, false);
  EXPECT_TRUE(trainers.lose(3));
  EXPECT_EQ(trainers.lost(), std::vector<std::uint32_t>{3});
  EXPECT_FALSE(trainers.over()) << "who goes early, or is lost, has not finished the work";
  trainers.retire(0, "x");
  ASSERT_TRUE(trainers.join(0, "c"));
  ASSERT_TRUE(trainers.join(3, "d"));
  EXPECT_EQ(trainers.lost(), std::vector<std::uint32_t>{});
  EXPECT_EQ(trainers.training(), (std::set<std::uint32_t>{0, 3})) << "a newcomer has not retired";
  trainers.leave(3);
  EXPECT_TRUE(trainers.finished());
  EXPECT_FALSE(trainers.over());
  EXPECT_TRUE(trainers.lose(0));
  EXPECT_TRUE(trainers.over());
}

TEST(ElasticTrainers, AnIdIsTakenUntilItsOwnerIsGone) {
  Trainers trainers(1, Elastic{1, 2});
  ASSERT_TRUE(trainers.join(0, "a"));
  auto const error = trainers.join(0, "b").error();
  EXPECT_EQ(error.code(), Errc::job_peer_lost) << "may be tried again";
  EXPECT_EQ(error.message(),
            "trainer 0 at b: the last one of this id has not left: it is given up when it is silent for long; give "
            "each trainer its own PADDLE_TRAINER_ID");
  EXPECT_EQ(trainers.join(2, "b").error().message(),
            "trainer 2 at b: this job has 2 trainers, numbered from 0: compare PADDLE_TRAINER_ID and "
            "PADDLE_TRAINERS_NUM");
}
