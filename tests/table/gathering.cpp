#include <prdist/table/gathering.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

using namespace prdist;

namespace {

using Trainers = std::vector<std::uint32_t>;

PushRows push(std::uint32_t trainer, Ticket ticket, bool last = true, std::uint32_t weight = 1) {
  return {.table = 1,
          .trainer = trainer,
          .weight = weight,
          .last = last,
          .ticket = ticket,
          .keys = {},
          .gradients = {},
          .keep = {}};
}

/// A gathering with what it has released and applied so far.
struct Steps {
  std::set<std::uint32_t> members;
  Gathering<PushRows> gathering{};
  std::vector<Ticket> released{};
  std::vector<std::vector<Ticket>> applied{};  ///< the tickets of each step, in the order of its parts

  void release() {
    gathering.release(members, released, [&](std::vector<std::vector<PushRows>> const& step) {
      auto& tickets = applied.emplace_back();
      for (auto const& part : step) {
        for (auto const& each : part) tickets.push_back(each.ticket);
      }
    });
  }
  void add(PushRows const& each) {
    gathering.add(each);
    release();
  }
};

using Tickets = std::vector<std::vector<Ticket>>;

}  // namespace

TEST(Gathering, WaitsForEveryMemberAndAppliesInTheirOrder) {
  Steps steps{{0, 1, 2}};
  EXPECT_TRUE(steps.gathering.missing(steps.members).empty()) << "nobody has begun";
  steps.add(push(2, 12));
  EXPECT_EQ(steps.gathering.missing(steps.members), (Trainers{0, 1}));
  steps.add(push(0, 10));
  EXPECT_TRUE(steps.applied.empty());
  EXPECT_TRUE(steps.released.empty());
  EXPECT_EQ(steps.gathering.missing(steps.members), (Trainers{1}));
  steps.add(push(1, 11));
  EXPECT_EQ(steps.applied, (Tickets{{10, 11, 12}}));
  EXPECT_EQ(steps.released, (std::vector<Ticket>{10, 11, 12}));
  EXPECT_TRUE(steps.gathering.missing(steps.members).empty());
}

TEST(Gathering, OneMayRunAheadAndItsPartsKeepTheirSteps) {
  Steps steps{{0, 1}};
  steps.add(push(0, 1));
  steps.add(push(0, 2));
  steps.add(push(0, 3));
  EXPECT_TRUE(steps.applied.empty());
  steps.add(push(1, 11));
  EXPECT_EQ(steps.applied, (Tickets{{1, 11}}));
  steps.add(push(1, 12));
  EXPECT_EQ(steps.applied, (Tickets{{1, 11}, {2, 12}}));
}

TEST(Gathering, APartOfSeveralPushesIsCompleteWithItsLast) {
  Steps steps{{0, 1}};
  steps.add(push(1, 11));
  steps.add(push(0, 1, false));
  EXPECT_EQ(steps.gathering.missing(steps.members), (Trainers{0})) << "half a part is not there";
  steps.add(push(0, 2, false));
  EXPECT_TRUE(steps.applied.empty());
  steps.add(push(0, 3));
  EXPECT_EQ(steps.applied, (Tickets{{1, 2, 3, 11}}));
}

TEST(Gathering, OneThatLeavesIsNoLongerWaitedFor) {
  Steps steps{{0, 1, 2}};
  steps.add(push(0, 1));
  steps.add(push(1, 11));
  steps.add(push(1, 12));
  steps.members.erase(2);
  steps.release();
  EXPECT_EQ(steps.applied, (Tickets{{1, 11}}));
  steps.members.erase(0);
  steps.release();
  EXPECT_EQ(steps.applied, (Tickets{{1, 11}, {12}}));
}

TEST(Gathering, PartsOfOneThatLeftStillCount) {
  Steps steps{{0, 1}};
  steps.add(push(1, 11));
  steps.add(push(1, 12));
  steps.members.erase(1);
  steps.release();
  EXPECT_TRUE(steps.applied.empty()) << "member 0 has not come";
  steps.add(push(0, 1));
  EXPECT_EQ(steps.applied, (Tickets{{1, 11}}));
  steps.add(push(0, 2));
  EXPECT_EQ(steps.applied, (Tickets{{1, 11}, {2, 12}}));
  steps.add(push(0, 3));
  EXPECT_EQ(steps.applied.back(), (std::vector<Ticket>{3}));
}

TEST(Gathering, WhatIsWholeIsReleasedWhenAllHaveLeft) {
  Steps steps{{0, 1}};
  steps.add(push(0, 1));
  steps.add(push(0, 2));
  steps.members.clear();
  steps.release();
  EXPECT_EQ(steps.applied, (Tickets{{1}, {2}}));
}

// It died between two pushes of a part: the others must neither wait for the rest nor be shown as missing.
TEST(Gathering, HalfAPartOfOneThatLeftHoldsNobodyUp) {
  Steps steps{{0, 1}};
  steps.add(push(1, 11, false));
  steps.members.erase(1);
  steps.release();
  EXPECT_TRUE(steps.applied.empty());
  EXPECT_TRUE(steps.gathering.missing(steps.members).empty()) << "no step is waiting";
  steps.add(push(0, 1));
  EXPECT_EQ(steps.applied, (Tickets{{1}}));
  EXPECT_TRUE(steps.gathering.missing(steps.members).empty());
}

TEST(Gathering, SharesAreByExamples) {
  std::vector<std::vector<PushRows>> const step{{push(0, 1, true, 30)}, {push(1, 2, true, 10)}};
  EXPECT_EQ(shares_of(step), (std::vector<float>{0.75F, 0.25F}));
  std::vector<std::vector<PushRows>> const large{{push(0, 1, true, 4000000000U)}, {push(1, 2, true, 4000000000U)}};
  EXPECT_EQ(shares_of(large), (std::vector<float>{0.5F, 0.5F})) << "the sum is more than 32 bits hold";
}

TEST(Gathering, AnIdlePartHasNoShareAndIdleStepsDivideEqually) {
  std::vector<std::vector<PushRows>> const one_idle{{push(0, 1, true, 5)}, {push(1, 2, true, 0)}};
  EXPECT_EQ(shares_of(one_idle), (std::vector<float>{1, 0}));
  std::vector<std::vector<PushRows>> const all_idle{{push(0, 1, true, 0)}, {push(1, 2, true, 0)}};
  EXPECT_EQ(shares_of(all_idle), (std::vector<float>{0.5F, 0.5F}));
}
