#include <prdist/nn/check_gradients.hpp>

#include <gtest/gtest.h>

#include <prdist/nn.hpp>

#include "../support/thrown.hpp"
#include "model_check.hpp"

using namespace prdist;

namespace {

/// Says one number wrongly.
struct Wrong : nn::LogisticRegression {
  double gradients(Batch const& batch, StepView const& view) {
    auto const loss = nn::LogisticRegression::gradients(batch, view);
    (of_row ? view.row_gradients[0][2] : view.dense_gradient[1]) *= 1.1F;
    return loss;
  }
  bool of_row = false;
};

}  // namespace

TEST(CheckGradients, AgreesWithModelsThatAreRight) {
  auto const batch = uneven_batch(6, 3, 2);
  for (std::uint64_t const seed : {1, 2, 3}) {
    auto const linear = nn::check_gradients(nn::LogisticRegression{.slots = 3, .dense = 2}, batch, seed);
    EXPECT_LT(linear.worst, 5e-3) << linear.where;
    auto const deep = nn::check_gradients(nn::DeepFm{.slots = 3, .dim = 2, .dense = 2, .hidden = {}}, batch, seed);
    EXPECT_LT(deep.worst, 5e-3) << deep.where;
  }
}

TEST(CheckGradients, NamesTheNumberThatIsWrong) {
  auto const batch = uneven_batch(6, 3, 2);
  Wrong model;
  model.slots = 3;
  model.dense = 2;
  auto error = nn::check_gradients(model, batch);
  EXPECT_GT(error.worst, 0.02);
  EXPECT_TRUE(test::holds(error.where, "part 'linear.w', element 1: "));
  model.of_row = true;
  error = nn::check_gradients(model, batch);
  EXPECT_GT(error.worst, 0.02);
  EXPECT_TRUE(test::holds(error.where, "table 'weight', element 2: "));
}
