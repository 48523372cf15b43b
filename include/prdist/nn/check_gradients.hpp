// SPDX-License-Identifier: Apache-2.0
// Are the gradients of a model those of its loss? Every weight and every row value is moved a little, one at a time,
// and what the loss says is compared with what the model says. For a test, on a batch of a few examples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/core/text.hpp>
#include <prdist/data/counter_random.hpp>

namespace prdist::nn {

struct GradientError {
  double worst = 0;     ///< the largest difference, over the largest gradient of its part or table
  std::string where{};  ///< as in "part 'fc0.w', element 7: 0.25 and by the loss 0.5"
};

namespace detail {

/// A model's weights and gradients, without servers.
template <class Model, class Batch>
class OneStep {
 public:
  OneStep(Model model, Batch const& batch, std::uint64_t seed) : model_(std::move(model)), batch_(batch) {
    CounterRandom const random(seed);
    std::uint64_t draw = 0;
    auto const fill = [&](std::string name, std::size_t size) {
      names.push_back(std::move(name));
      auto& each = values.emplace_back(size);
      for (auto& value : each) value = static_cast<float>(random.unit(draw++) - 0.5);
      gradients.emplace_back(size);
    };
    for (auto const& part : model_.dense_parts()) {
      dense_parts_.push_back(part.size);
      fill(concat("part '", part.name, "'"), part.size);
    }
    auto const inputs = model_.sparse_inputs();
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      fill(concat("table '", inputs[t].name, "'"), model_.keys(batch_, t).size() * inputs[t].dim);
    }
  }

  /// The loss; what the model says of the gradients goes into `gradients`.
  double run() {
    std::vector<float> dense, dense_gradient;
    for (std::size_t i = 0; i < dense_parts_.size(); ++i) {
      dense.insert(dense.end(), values[i].begin(), values[i].end());
    }
    dense_gradient.resize(dense.size());
    std::vector<std::span<float const>> rows;
    std::vector<std::span<float>> row_gradients;
    for (auto i = dense_parts_.size(); i < values.size(); ++i) {
      std::ranges::fill(gradients[i], 0.0F);
      rows.emplace_back(values[i]);
      row_gradients.emplace_back(gradients[i]);
    }
    auto const loss =
        static_cast<double>(model_.gradients(batch_, StepView{dense, dense_gradient, rows, row_gradients}));
    auto from = dense_gradient.begin();
    for (std::size_t i = 0; i < dense_parts_.size(); ++i) {
      std::copy_n(from, dense_parts_[i], gradients[i].begin());
      from += static_cast<std::ptrdiff_t>(dense_parts_[i]);
    }
    return loss;
  }

  std::vector<std::string> names;  ///< of the dense parts, then of the tables
  std::vector<std::vector<float>> values, gradients;

 private:
  Model model_;
  Batch const& batch_;
  std::vector<std::size_t> dense_parts_;
};

}  // namespace detail

/// Compares all gradients of one step with differences of the loss, at random weights. With floats and no kinks the
/// worst is some 1e-3; wrong gradients are off by tenths. Beside a kink, such as a ReLU's, a difference means nothing:
/// take another `seed`, or check the layers around it.
template <class Model, class Batch>
requires trainable<Model, Batch>
[[nodiscard]] GradientError check_gradients(Model model, Batch const& batch, std::uint64_t seed = 1) {
  constexpr float step = 4e-3F;
  detail::OneStep<Model, Batch> it(std::move(model), batch, seed);
  (void)it.run();
  auto const told = it.gradients;
  GradientError error;
  for (std::size_t i = 0; i < told.size(); ++i) {
    std::vector<double> by_loss(told[i].size());
    double largest = 1e-9;
    for (std::size_t k = 0; k < told[i].size(); ++k) {
      auto const before = it.values[i][k];
      auto const loss_at = [&](float value) {
        it.values[i][k] = value;
        return it.run();
      };
      auto const up = before + step, down = before - step;
      by_loss[k] = (loss_at(up) - loss_at(down)) / (static_cast<double>(up) - static_cast<double>(down));
      it.values[i][k] = before;
      largest = std::max({largest, std::abs(by_loss[k]), std::abs(static_cast<double>(told[i][k]))});
    }
    for (std::size_t k = 0; k < told[i].size(); ++k) {
      auto const off = std::abs(by_loss[k] - static_cast<double>(told[i][k])) / largest;
      if (off <= error.worst) continue;
      error = {off, concat(it.names[i], ", element ", k, ": ", told[i][k], " and by the loss ", by_loss[k])};
    }
  }
  return error;
}

}  // namespace prdist::nn
