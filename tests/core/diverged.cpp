#include <prdist/core/diverged.hpp>

#include <gtest/gtest.h>

#include <limits>

#include "../support/thrown.hpp"

using namespace prdist;

TEST(CheckLoss, NamesWhoTheStepTheLossAndTheWayOut) {
  check_loss("worker 1", 7, 0.5);
  check_loss("worker 1", 7, 1e300);
  auto const error = test::thrown([] { check_loss("worker 1", 7, std::numeric_limits<double>::quiet_NaN()); });
  EXPECT_EQ(error.code(), Errc::job_diverged);
  EXPECT_STREQ(error.what(),
               "prdist[job.diverged] worker 1, step 7: the loss is nan, so nothing of this step was learned: take a "
               "smaller learning rate, look at the data for numbers that are far too large, and go on from the last "
               "checkpoint");
  EXPECT_TRUE(test::holds(test::thrown([] { check_loss("x", 1, -std::numeric_limits<double>::quiet_NaN()); }).what(),
                          "x, step 1: the loss is nan"));
  EXPECT_TRUE(test::holds(test::thrown([] { check_loss("x", 1, -std::numeric_limits<double>::infinity()); }).what(),
                          "x, step 1: the loss is -inf"));
}
