#include <prdist/concepts/model.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

using namespace prdist;

namespace {

struct Batch {
  std::vector<Key> keys;
  [[nodiscard]] std::size_t size() const { return keys.size(); }
};
struct Sizeless {
  std::vector<Key> keys;
};

// Each promise alone, so that a model may lack exactly one of them.
struct SparseInputs {
  [[nodiscard]] std::vector<SparseInput> sparse_inputs() const { return {{"ids", 2, Initializer::constant(1)}}; }
};
struct DenseParts {
  [[nodiscard]] std::vector<DensePart> dense_parts() const { return {{"bias", 1, {}}}; }
};
struct NamesKeys {
  [[nodiscard]] std::span<Key const> keys(Batch const& batch, std::size_t) const { return batch.keys; }
};
struct Gradients {
  /// The loss is the mean of all numbers seen: the least that reads and writes everything.
  double gradients(Batch const& batch, StepView const& view) {
    auto const share = 1.0F / static_cast<float>(batch.size());
    double loss = view.dense[0];
    view.dense_gradient[0] += 1;
    for (std::size_t i = 0; i < view.rows[0].size(); ++i) {
      loss += double{share * view.rows[0][i]};
      view.row_gradients[0][i] += share;
    }
    return loss;
  }
};

template <class... Promises>
struct With : Promises... {};

using Whole = With<SparseInputs, DenseParts, NamesKeys, Gradients>;
using WithoutSparse = With<DenseParts, NamesKeys, Gradients>;
using WithoutDense = With<SparseInputs, NamesKeys, Gradients>;
using WithoutKeys = With<SparseInputs, DenseParts, Gradients>;
using WithoutGradients = With<SparseInputs, DenseParts, NamesKeys>;

static_assert(trainable<Whole, Batch>);
static_assert(!has_sparse_inputs<WithoutSparse> && !trainable<WithoutSparse, Batch>);
static_assert(!has_dense_parts<WithoutDense> && !trainable<WithoutDense, Batch>);
static_assert(!can_name_keys<WithoutKeys, Batch> && !trainable<WithoutKeys, Batch>);
static_assert(!can_compute_gradients<WithoutGradients, Batch> && !trainable<WithoutGradients, Batch>);
static_assert(has_size<Batch> && !has_size<Sizeless> && !trainable<Whole, Sizeless>);

struct VoidGradients : With<SparseInputs, DenseParts, NamesKeys> {
  void gradients(Batch const&, StepView const&) {}
};
static_assert(!can_compute_gradients<VoidGradients, Batch>, "the loss must be returned");

struct KeysAsText : With<SparseInputs, DenseParts, Gradients> {
  [[nodiscard]] std::vector<char> keys(Batch const&, std::size_t) const { return {}; }
};
static_assert(!can_name_keys<KeysAsText, Batch>);

}  // namespace

TEST(ModelConcept, AModelComputesFromAViewAlone) {
  Whole model;
  Batch const batch{{5, 6}};
  std::vector<float> const dense{0.5F}, rows{1, 2, 3, 4};
  std::vector<float> dense_gradient(1), row_gradient(4);
  std::span<float const> const row_views[]{rows};
  std::span<float> const gradient_views[]{row_gradient};
  EXPECT_DOUBLE_EQ(model.gradients(batch, {dense, dense_gradient, row_views, gradient_views}), 5.5);
  EXPECT_EQ(dense_gradient, (std::vector<float>{1}));
  EXPECT_EQ(row_gradient, (std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F}));
  EXPECT_EQ(model.keys(batch, 0).size() * model.sparse_inputs()[0].dim, rows.size());
}
