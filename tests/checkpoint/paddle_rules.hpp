// Paddle's sparse rules as its code computes them, in double precision: what rows that change sides are held against.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <prdist/checkpoint/paddle_sparse.hpp>

namespace prdist {

/// One piece of a row, embed_w or embedx_w.
struct PaddlePiece {
  PaddleRule rule;
  std::vector<double> w;
  std::vector<double> state;
  double rate = 0.01, initial = 3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  PaddlePiece(PaddleRule of_rule, std::vector<double> weights) : rule(of_rule), w(std::move(weights)) {
    state.assign(state_floats(rule, w.size()), 0.0);
    if (rule == PaddleRule::adam || rule == PaddleRule::shared_adam) {
      state[state.size() - 2] = beta1;
      state[state.size() - 1] = beta2;
    }
  }

  void push(std::vector<double> const& g) {
    auto const n = w.size();
    auto const count = static_cast<double>(n);
    double sum1 = 0, sum2 = 0;
    auto* const powers = state.size() < 2 ? nullptr : state.data() + state.size() - 2;
    auto const corrected = powers == nullptr ? 0 : rate * std::sqrt(1 - powers[1]) / (1 - powers[0]);
    switch (rule) {
      case PaddleRule::naive:
        for (std::size_t i = 0; i < n; ++i) w[i] -= rate * g[i];
        return;
      case PaddleRule::adagrad:
        for (std::size_t i = 0; i < n; ++i) {
          w[i] -= rate * g[i] * std::sqrt(initial / (initial + state[0]));
          sum2 += g[i] * g[i];
        }
        state[0] += sum2 / count;
        return;
      case PaddleRule::std_adagrad:
        for (std::size_t i = 0; i < n; ++i) {
          w[i] -= rate * g[i] * std::sqrt(initial / (initial + state[i]));
          state[i] += g[i] * g[i];
        }
        return;
      case PaddleRule::adam:
        for (std::size_t i = 0; i < n; ++i) {
          state[i] = beta1 * state[i] + (1 - beta1) * g[i];
          state[n + i] = beta2 * state[n + i] + (1 - beta2) * g[i] * g[i];
          w[i] -= corrected * state[i] / (std::sqrt(state[n + i]) + epsilon);
        }
        break;
      case PaddleRule::shared_adam:
        for (std::size_t i = 0; i < n; ++i) {
          auto const m = beta1 * state[0] + (1 - beta1) * g[i];
          auto const v = beta2 * state[1] + (1 - beta2) * g[i] * g[i];
          w[i] -= corrected * m / (std::sqrt(v) + epsilon);
          sum1 += m;
          sum2 += v;
        }
        state[0] = sum1 / count;
        state[1] = sum2 / count;
        break;
    }
    powers[0] *= beta1;
    powers[1] *= beta2;
  }
};

/// As Paddle's text has it: six digits.
[[nodiscard]] inline std::vector<float> six_digits(std::vector<double> const& numbers) {
  std::vector<float> out;
  for (auto const number : numbers) {
    char text[64];
    std::snprintf(text, sizeof text, "%g", number);
    out.push_back(std::strtof(text, nullptr));
  }
  return out;
}

[[nodiscard]] inline PaddleRow row_of(Key key, PaddlePiece const& embed, PaddlePiece const& embedx) {
  return {.key = key,
          .show = 1,
          .embed_w = six_digits(embed.w)[0],
          .embed_state = six_digits(embed.state),
          .embedx_w = six_digits(embedx.w),
          .embedx_state = six_digits(embedx.state)};
}

}  // namespace prdist
