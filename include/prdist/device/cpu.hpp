// SPDX-License-Identifier: Apache-2.0
// Computing on the CPU: floats in ordinary memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/optim/kernel.hpp>

namespace prdist {

class Cpu {
 public:
  static constexpr std::string_view name = "cpu";

  using Floats = std::vector<float>;

  void resize(Floats& floats, std::size_t count) const { floats.resize(count); }
  [[nodiscard]] std::span<float> staging(Floats& floats) const { return floats; }
  [[nodiscard]] std::span<float> view(Floats& floats) const { return floats; }
  void upload(Floats&) const {}
  void download(Floats&) const {}
  void zero(Floats& floats) const { std::fill(floats.begin(), floats.end(), 0.0F); }

  void gather(Floats const& from, std::span<std::uint32_t const> index, std::size_t dim, Floats& to) const {
    for (std::size_t i = 0; i < index.size(); ++i) {
      std::memcpy(to.data() + i * dim, from.data() + index[i] * dim, dim * sizeof(float));
    }
  }

  void scatter_add(Floats const& from, std::span<std::uint32_t const> index, std::size_t dim, Floats& to) const {
    for (std::size_t i = 0; i < index.size(); ++i) {
      auto* const sum = to.data() + index[i] * dim;
      auto const* const part = from.data() + i * dim;
      for (std::size_t k = 0; k < dim; ++k) sum[k] += part[k];
    }
  }

  void update(Optimizer const& optimizer, Floats& rows, Floats const& gradients, std::size_t dim) const {
    auto const stride = row_floats(optimizer, dim);
    auto const kernel = row_kernel(optimizer);
    for (std::size_t i = 0; i < gradients.size() / dim; ++i) {
      auto* const row = rows.data() + i * stride;
      auto const* const gradient = gradients.data() + i * dim;
      kernel(optimizer, &row, &gradient, 1, dim);
    }
  }
};

}  // namespace prdist
