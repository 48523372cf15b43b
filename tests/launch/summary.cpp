#include <prdist/launch/summary.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace prdist;

namespace {

TrainerProgress said(std::string_view line, bool running = true) {
  return {parse_progress(line), running};
}

std::string summary(std::vector<TrainerProgress> const& trainers, double seconds = 10) {
  return summary_of(trainers, std::chrono::duration<double>(seconds));
}

}  // namespace

TEST(Summary, AddsUpTrainers) {
  EXPECT_EQ(summary({said("examples=300000 total=500000 rate=20000 loss=0.5"),
                     said("examples=314400 total=500000 rate=22068 loss=0.4")}),
            "61% 614,400/1,000,000 examples, 42,068 examples/s, loss 0.4500, eta 0:09");
}

TEST(Summary, IsEmptyUntilATrainerSaysSomething) {
  EXPECT_EQ(summary({{}, {}}), "");
  EXPECT_EQ(summary({said("")}), "");
}

TEST(Summary, GivesNoPercentageOfAPartOfTheData) {
  EXPECT_EQ(summary({said("examples=500 total=1000 rate=10"), {}}), "500 examples, 10 examples/s");
  EXPECT_EQ(summary({said("examples=500 total=1000 rate=10"), said("examples=5 rate=1")}),
            "505 examples, 11 examples/s");
}

TEST(Summary, TakesTheMeanRateOfATrainerThatGivesNone) {
  EXPECT_EQ(summary({said("examples=5000")}, 10), "5,000 examples, 500 examples/s");
  EXPECT_EQ(summary({said("examples=5000")}, 0), "5,000 examples");
}

TEST(Summary, CountsOnlyRunningTrainersIntoTheRate) {
  EXPECT_EQ(summary({said("examples=1000 total=1000 rate=100", false), said("examples=0 total=1000 rate=10")}),
            "50% 1,000/2,000 examples, 10 examples/s, eta 1:40");
}

TEST(Summary, BearsWhatCannotBe) {
  EXPECT_EQ(summary({said("examples=2000 total=1000 rate=-5 loss=nan")}), "100% 2,000/1,000 examples, loss nan");
  EXPECT_EQ(summary({said("examples=1 total=18446744073709551615 rate=inf")}),
            "0% 1/18,446,744,073,709,551,615 examples");
}

TEST(Summary, WritesLongWaitsInHours) {
  EXPECT_EQ(summary({said("examples=1 total=3724 rate=1")}), "0% 1/3,724 examples, 1 examples/s, eta 1:02:03");
}
