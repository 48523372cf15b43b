// SPDX-License-Identifier: Apache-2.0
// What distributed_optimizer().minimize() asks of a model, whoever computes its gradients: the layers of nn/, a
// hand-written loop, or another framework behind an adapter. The model owns no parameters: it is given the dense
// weights and one row per key, and writes the gradients beside them.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include <prdist/core/types.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// One sparse table a model reads: `dim` floats per key.
struct SparseInput {
  std::string name{};
  std::size_t dim = 0;
  Initializer init{};
};

/// What one step reads and writes. `rows[t]` holds one row per key of input t, in the order of keys(batch, t),
/// equal keys repeated; `row_gradients[t]` has the same shape. Gradients are of the mean loss over the batch and
/// arrive zeroed.
struct StepView {
  std::span<float const> dense;
  std::span<float> dense_gradient;
  std::span<std::span<float const> const> rows;
  std::span<std::span<float> const> row_gradients;
};

template <class Model>
concept has_sparse_inputs = requires(Model const& model) {
  { model.sparse_inputs() } -> std::convertible_to<std::vector<SparseInput>>;
};

template <class Model>
concept has_dense_parts = requires(Model const& model) {
  { model.dense_parts() } -> std::convertible_to<std::vector<DensePart>>;
};

template <class Model, class Batch>
concept can_name_keys = requires(Model const& model, Batch const& batch, std::size_t input) {
  { model.keys(batch, input) } -> std::convertible_to<std::span<Key const>>;
};

/// Optional: clicks() says for each of keys(batch, input) how often it was clicked. Asked for tables that keep
/// statistics; a model without it counts shows alone.
template <class Model, class Batch>
concept can_tell_clicks = requires(Model const& model, Batch const& batch, std::size_t input, std::span<float> clicks) {
  model.clicks(batch, input, clicks);
};

/// gradients() fills both gradients of `view` and returns the mean loss over the batch.
template <class Model, class Batch>
concept can_compute_gradients = requires(Model& model, Batch const& batch, StepView const& view) {
  { model.gradients(batch, view) } -> std::convertible_to<double>;
};

/// How many examples a batch holds: the weight of its gradient in a synchronous step.
template <class Batch>
concept has_size = requires(Batch const& batch) {
  { batch.size() } -> std::convertible_to<std::size_t>;
};

/// A batch that can be cut: examples [first, first + count) as a batch of their own.
template <class Batch>
concept can_slice = requires(Batch const& batch, std::size_t first, std::size_t count) {
  { batch.slice(first, count) } -> std::convertible_to<Batch>;
};

template <class Model, class Batch>
concept trainable = has_sparse_inputs<Model> && has_dense_parts<Model> && has_size<Batch> &&
    can_name_keys<Model, Batch> && can_compute_gradients<Model, Batch>;

}  // namespace prdist
