#include <prdist/nn/sigmoid_cross_entropy.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

TEST(SigmoidCrossEntropy, IsTheMeanOfMinusLogOfWhatHappened) {
  std::vector<double> const logits{0.3, -1.2, 2.0};
  std::vector<float> const labels{1, 0, 0};
  std::vector<double> gradient(3);
  auto const p = [&](std::size_t i) { return 1 / (1 + std::exp(-logits[i])); };
  EXPECT_NEAR(sigmoid_cross_entropy(logits, labels, std::span(gradient)),
              -(std::log(p(0)) + std::log(1 - p(1)) + std::log(1 - p(2))) / 3, 1e-12);
}

TEST(SigmoidCrossEntropy, BackwardAgreesWithFiniteDifferences) {
  auto logits = random_values(20, 1);
  for (auto& logit : logits) logit *= 5;
  std::vector<float> labels;
  for (std::size_t i = 0; i < logits.size(); ++i) labels.push_back(i % 3 == 0 ? 1.0F : 0.0F);
  std::vector<double> gradient(logits.size()), unused(logits.size());
  sigmoid_cross_entropy(logits, labels, std::span(gradient));
  expect_gradient("logit", logits, gradient, [&] { return sigmoid_cross_entropy(logits, labels, std::span(unused)); });
}

TEST(SigmoidCrossEntropy, HoldsOutAtTheEnds) {
  std::vector<float> const logits{1000, -1000, 1000, -1000}, labels{1, 0, 0, 1};
  std::vector<float> gradient(4);
  EXPECT_NEAR(sigmoid_cross_entropy(logits, labels, std::span(gradient)), 500, 1e-9);
  EXPECT_EQ(gradient, (std::vector<float>{0, 0, 0.25F, -0.25F}));
  EXPECT_EQ(sigmoid(1000.0F), 1.0F);
  EXPECT_EQ(sigmoid(-1000.0F), 0.0F);
  EXPECT_EQ(sigmoid(0.0), 0.5);
  EXPECT_NEAR(sigmoid(-20.0F), 2.0611537e-9F, 1e-15F) << "small probabilities keep their digits";
}

TEST(SigmoidCrossEntropy, NoExamplesCostNothing) {
  std::vector<float> gradient;
  EXPECT_EQ(sigmoid_cross_entropy({}, {}, std::span(gradient)), 0.0);
}
