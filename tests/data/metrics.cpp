#include <prdist/data/metrics.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <prdist/data/counter_random.hpp>

#include "error_text.hpp"

using namespace prdist;

namespace {

struct Scored {
  std::vector<float> labels, scores;
};

/// Scores that tell something of the labels; with few levels there are many ties.
Scored sample(std::size_t count, double levels, std::uint64_t seed = 3) {
  CounterRandom const random(seed);
  Scored scored;
  for (std::size_t i = 0; i < count; ++i) {
    bool const positive = random.unit(2 * i) < 0.3;
    auto const score = random.unit(2 * i + 1) * 0.7 + (positive ? 0.25 : 0.0);
    scored.labels.push_back(positive ? 1.0F : 0.0F);
    scored.scores.push_back(static_cast<float>(std::floor(score * levels) / levels));
  }
  return scored;
}

/// By definition: over all pairs.
double auc_of_pairs(Scored const& scored) {
  double won = 0, pairs = 0;
  for (std::size_t p = 0; p < scored.labels.size(); ++p) {
    for (std::size_t n = 0; n < scored.labels.size(); ++n) {
      if (scored.labels[p] < 0.5F || scored.labels[n] > 0.5F) continue;
      ++pairs;
      won += scored.scores[p] > scored.scores[n] ? 1.0 : scored.scores[p] == scored.scores[n] ? 0.5 : 0.0;
    }
  }
  return won / pairs;
}

auto const nan_score = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST(Auc, IsTheShareOfPairsInTheRightOrder) {
  EXPECT_EQ(auc(std::vector<float>{0, 0, 1, 1}, std::vector<float>{0.1F, 0.4F, 0.35F, 0.8F}), 0.75);
  EXPECT_EQ(auc(std::vector<float>{0, 1}, std::vector<float>{0.2F, 0.3F}), 1.0);
  EXPECT_EQ(auc(std::vector<float>{1, 0}, std::vector<float>{0.2F, 0.3F}), 0.0);
  for (double const levels : {3.0, 17.0, 1e6}) {
    auto const scored = sample(400, levels);
    EXPECT_NEAR(auc(scored.labels, scored.scores), auc_of_pairs(scored), 1e-12) << levels;
  }
}

TEST(Auc, TiesCountHalf) {
  EXPECT_EQ(auc(std::vector<float>{0, 1, 1, 0}, std::vector<float>{5, 5, 5, 5}), 0.5);
  EXPECT_EQ(auc(std::vector<float>{0, 1, 1}, std::vector<float>{1, 1, 2}), 0.75);
}

TEST(Auc, OneKindOfLabelAloneIsAHalf) {
  EXPECT_EQ(auc(std::vector<float>{1, 1}, std::vector<float>{0.2F, 0.3F}), 0.5);
  EXPECT_EQ(auc(std::vector<float>{0, 0}, std::vector<float>{0.2F, 0.3F}), 0.5);
  EXPECT_EQ(auc({}, {}), 0.5);
}

TEST(Auc, AScoreThatIsNotANumberIsNotHidden) {
  EXPECT_TRUE(std::isnan(auc(std::vector<float>{0, 1, 1}, std::vector<float>{0.1F, nan_score, 0.3F})));
}

TEST(BucketAuc, ComesNearTheExactOne) {
  auto const scored = sample(20000, 1e6);
  BucketAuc buckets;
  buckets.add(scored.labels, scored.scores);
  EXPECT_NEAR(buckets.value(), auc(scored.labels, scored.scores), 2e-4);
}

TEST(BucketAuc, IsExactWhenScoresLieInDifferentBuckets) {
  auto const scored = sample(2000, 64);
  BucketAuc buckets(64);
  buckets.add(scored.labels, scored.scores);
  EXPECT_NEAR(buckets.value(), auc(scored.labels, scored.scores), 1e-12);
}

TEST(BucketAuc, SummedOverWorkersIsThatOfAllRows) {
  BucketAuc all, first, second;
  auto const one = sample(1000, 1e6, 1), two = sample(3000, 1e6, 2);
  all.add(one.labels, one.scores);
  all.add(two.labels, two.scores);
  first.add(one.labels, one.scores);
  second.add(two.labels, two.scores);

  std::vector<double> sums(first.counts().begin(), first.counts().end());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += second.counts()[i];
  BucketAuc loaded;
  loaded.load(sums);
  EXPECT_EQ(loaded.value(), all.value());
  first.merge(second);
  EXPECT_EQ(first.value(), all.value());
  first.clear();
  EXPECT_EQ(first.value(), 0.5);
}

TEST(BucketAuc, TakesScoresAtAndBeyondTheEdges) {
  BucketAuc buckets(4);
  buckets.add(std::vector<float>{0, 0, 1, 1}, std::vector<float>{-5.0F, 0.0F, 1.0F, 7.0F});
  EXPECT_EQ(buckets.value(), 1.0);
}

TEST(BucketAuc, OneKindOfLabelAloneIsAHalf) {
  BucketAuc buckets;
  EXPECT_EQ(buckets.value(), 0.5);
  buckets.add(1, 0.3F);
  EXPECT_EQ(buckets.value(), 0.5);
}

TEST(BucketAuc, AScoreThatIsNotANumberIsNotHiddenByASum) {
  BucketAuc good, bad;
  good.add(std::vector<float>{0, 1}, std::vector<float>{0.1F, 0.9F});
  bad.add(1, nan_score);
  good.merge(bad);
  EXPECT_TRUE(std::isnan(good.value()));
}

TEST(BucketAuc, RefusesCountsOfAnotherNumberOfBuckets) {
  BucketAuc few(2), many(4);
  auto const text =
      "prdist[config.contradiction] AUC counts hold 9 numbers where 2 buckets need 5: use the same number of buckets "
      "on "
      "every worker";
  EXPECT_EQ(error_of([&] { few.merge(many); }), text);
  EXPECT_EQ(error_of([&] { few.load(many.counts()); }), text);
}

TEST(LogLoss, IsTheMeanOfMinusLogOfWhatHappened) {
  EXPECT_NEAR(log_loss(std::vector<float>{1, 0}, std::vector<float>{0.8F, 0.4F}), -(std::log(0.8) + std::log(0.6)) / 2,
              1e-7);
  EXPECT_EQ(log_loss({}, {}), 0.0);
}

TEST(LogLoss, AWrongCertaintyIsDearButFinite) {
  auto const loss = log_loss(std::vector<float>{1, 0}, std::vector<float>{0.0F, 1.0F});
  EXPECT_GT(loss, 15);
  EXPECT_LT(loss, 17);
  EXPECT_TRUE(std::isnan(log_loss(std::vector<float>{1}, std::vector<float>{nan_score})));
}
