// SPDX-License-Identifier: Apache-2.0
// Fully connected layers with ReLU between them and none behind the last. It knows its parameters by name and
// shape but does not own them: they come in as one span, in the order of parts(). It owns the activations, which
// are kept from forward() to backward() and reused by the next step.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/nn/fully_connected.hpp>
#include <prdist/nn/matrix.hpp>
#include <prdist/nn/relu.hpp>
#include <prdist/table/spec.hpp>

namespace prdist::nn {

struct MlpShape {
  std::size_t in = 0;
  std::vector<std::size_t> hidden = {};
  std::size_t out = 1;
  std::string name = "fc";  ///< layer i has the parts `fc<i>.w` and `fc<i>.b`

  [[nodiscard]] std::size_t layers() const noexcept { return hidden.size() + 1; }
  [[nodiscard]] std::size_t fan_in(std::size_t layer) const { return layer == 0 ? in : hidden[layer - 1]; }
  [[nodiscard]] std::size_t fan_out(std::size_t layer) const { return layer < hidden.size() ? hidden[layer] : out; }

  /// Weights (in x out, Xavier) and bias (zeros) of every layer.
  [[nodiscard]] std::vector<DensePart> parts() const {
    std::vector<DensePart> parts;
    for (std::size_t i = 0; i < layers(); ++i) {
      parts.push_back({concat(name, i, ".w"),
                       fan_in(i) * fan_out(i),
                       Initializer::xavier(fan_in(i), fan_out(i)),
                       {fan_in(i), fan_out(i)}});
      parts.push_back({concat(name, i, ".b"), fan_out(i), Initializer::zeros()});
    }
    return parts;
  }

  /// How many floats all parts have.
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < layers(); ++i) sum += (fan_in(i) + 1) * fan_out(i);
    return sum;
  }

  friend bool operator==(MlpShape const&, MlpShape const&) = default;
};

template <class Real = float>
class Mlp {
 public:
  explicit Mlp(MlpShape shape) : shape_(std::move(shape)), values_(shape_.layers()) {}

  [[nodiscard]] MlpShape const& shape() const noexcept { return shape_; }

  /// The output, one row per row of `x`. It and `x` must stay as they are until backward(); the output's memory is
  /// this object's and is overwritten by the next call.
  [[nodiscard]] Matrix<Real> forward(std::span<Real const> parameters, Matrix<Real const> x) {
    assert(parameters.size() == shape_.size() && x.columns() == shape_.in);
    input_ = x;
    for (std::size_t i = 0; i < shape_.layers(); ++i) {
      auto const y = values_[i].shape(x.rows(), shape_.fan_out(i));
      auto const [w, b] = layer(parameters, i);
      fully_connected(input_of(i), w, b, y);
      if (i + 1 < shape_.layers()) relu(y.flat());
    }
    return value(shape_.layers() - 1);
  }

  /// Given `dy`, the gradient of the output, adds to `gradient` that of the parameters and returns that of the
  /// input of the last forward().
  Matrix<Real> backward(std::span<Real const> parameters, Matrix<Real const> dy, std::span<Real> gradient) {
    assert(gradient.size() == shape_.size() && dy.rows() == input_.rows() && dy.columns() == shape_.out);
    Matrix<Real> dx;
    for (std::size_t i = shape_.layers(); i-- > 0;) {
      auto const [w, b] = layer(parameters, i);
      auto const [dw, db] = layer(gradient, i);
      fully_connected_backward_parameters(input_of(i), dy, dw, db);
      dx = gradients_[i % 2].shape(input_.rows(), shape_.fan_in(i));
      fully_connected_backward_input(w, dy, dx);
      if (i > 0) relu_backward<Real>(value(i - 1).flat(), dx.flat());
      dy = dx;
    }
    return dx;
  }

 private:
  [[nodiscard]] Matrix<Real> value(std::size_t layer) {
    return values_[layer].shape(input_.rows(), shape_.fan_out(layer));
  }
  [[nodiscard]] Matrix<Real const> input_of(std::size_t layer) { return layer == 0 ? input_ : value(layer - 1); }

  /// Weights and bias of layer i within all parameters, or likewise within their gradient.
  template <class Value>
  [[nodiscard]] std::pair<Matrix<Value>, std::span<Value>> layer(std::span<Value> all, std::size_t i) const {
    for (std::size_t before = 0; before < i; ++before) {
      all = all.subspan((shape_.fan_in(before) + 1) * shape_.fan_out(before));
    }
    auto const in = shape_.fan_in(i), out = shape_.fan_out(i);
    return {Matrix<Value>(all.first(in * out), in, out), all.subspan(in * out, out)};
  }

  MlpShape shape_;
  Matrix<Real const> input_;
  std::vector<Buffer<Real>> values_;  // the output of every layer
  Buffer<Real> gradients_[2];         // of the current layer's output and of its input, in turn
};

}  // namespace prdist::nn
