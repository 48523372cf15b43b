// A network of the user's own: two tables, a layer written as xtensor expressions, layers of the library.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>
#include <xtensor/xmath.hpp>

#include <prdist/data/planted.hpp>
#include <prdist/nn.hpp>
#include <prdist/nn/xtensor.hpp>

#include "model_check.hpp"

using namespace prdist;
using nn::as_matrix;
using nn::Matrix;

namespace {

//[custom_net
/// Wide & deep: a weight per id beside a network over embeddings that pass through a tanh.
class WideAndDeep {
 public:
  WideAndDeep(std::size_t slots, std::size_t dim)
      : slots_(slots), dim_(dim), mlp_({.in = slots * dim, .hidden = {16, 8}, .name = "deep"}) {}

  [[nodiscard]] std::vector<SparseInput> sparse_inputs() const {
    return {{"wide", 1, Initializer::zeros()}, {"deep", dim_, Initializer::uniform(-0.05F, 0.05F)}};
  }
  [[nodiscard]] std::vector<DensePart> dense_parts() const { return mlp_.shape().parts(); }
  [[nodiscard]] std::span<Key const> keys(Batch const& batch, std::size_t) const { return batch.keys; }

  double gradients(Batch const& batch, StepView const& view) {
    auto const logits = forward(batch, view.dense, view.rows);
    auto const slope = slope_.shape(batch.size(), 1);
    auto const loss = nn::sigmoid_cross_entropy<float>(logits, batch.labels, slope.flat());

    auto const dx = mlp_.backward(view.dense, slope, view.dense_gradient);
    auto const x = nn::as_xtensor(x_);
    nn::as_xtensor(dx) *= 1 - x * x;
    nn::pooled_embedding_backward(dx, batch.offsets, slots_, nn::Pooling::mean,
                                  as_matrix(view.row_gradients[1], batch.keys.size(), dim_));
    float no_bias = 0;
    nn::linear_backward(batch.offsets, no_features(batch), slope.flat(),
                        as_matrix(view.row_gradients[0], batch.keys.size(), 1), {}, no_bias);
    return loss;
  }

  void predict(Batch const& batch, std::span<float const> weights, std::span<std::span<float const> const> rows,
               std::span<float> out) {
    auto const logits = forward(batch, weights, rows);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = nn::sigmoid(logits[i]);
  }

 private:
  std::span<float> forward(Batch const& batch, std::span<float const> weights,
                           std::span<std::span<float const> const> rows) {
    x_ = input_.shape(batch.size(), slots_ * dim_);
    nn::pooled_embedding(as_matrix(rows[1], batch.keys.size(), dim_), batch.offsets, slots_, nn::Pooling::mean, x_);
    nn::as_xtensor(x_) = xt::tanh(nn::as_xtensor(x_));
    auto const logits = mlp_.forward(weights, x_).flat();
    auto const wide = wide_.shape(batch.size(), 1).flat();
    nn::linear(as_matrix(rows[0], batch.keys.size(), 1), batch.offsets, no_features(batch), {}, 0, wide);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += wide[i];
    return logits;
  }

  static Matrix<float const> no_features(Batch const& batch) { return {nullptr, batch.size(), 0, 0}; }

  std::size_t slots_, dim_;
  nn::Mlp<> mlp_;
  nn::Buffer<float> input_, wide_, slope_;
  Matrix<float> x_;
};

static_assert(trainable<WideAndDeep, Batch>);
//]

}  // namespace

TEST(CustomNet, GradientsAgreeWithFiniteDifferences) {
  auto const batch = uneven_batch(7, 3, 0);
  expect_model(WideAndDeep(3, 2), batch,
               [&](std::size_t i, std::span<double const> weights, std::vector<std::vector<double>> const& rows) {
                 auto const wide = reference_pool(batch, i, rows[0], 1, 0, 1);
                 auto x = reference_pool(batch, i, rows[1], 2, 0, 2, true);
                 for (auto& value : x) value = std::tanh(value);
                 return std::accumulate(wide.begin(), wide.end(), reference_mlp(x, weights, {16, 8}, 1)[0]);
               });
}

TEST(CustomNet, TrainsLikeAnyOther) {
  nn::LocalTrainer trainer(WideAndDeep(26, 4), Adagrad{.rate = 0.05F, .initial = 1e-4F}, Adam{}, 3);
  Planted const planted;
  double first = 0, last = 0;
  for (std::size_t i = 0; i < 150; ++i) {
    auto const loss = trainer.step(planted.batch(PlantedSet::train, i * 100, 100));
    if (i < 20) first += loss;
    if (i >= 130) last += loss;
  }
  EXPECT_LT(last, first - 0.5) << "the mean loss fell by more than 0.025";
  EXPECT_EQ(trainer.table(0).size(), trainer.table(1).size());
}
