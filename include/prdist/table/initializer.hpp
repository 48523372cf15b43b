// SPDX-License-Identifier: Apache-2.0
// The first row is a pure function of (seed, table, key): pull computes it and inserts nothing, so reading is
// never a write, and any server, order or thread gives the same row.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

struct Initializer {
  enum class Kind : std::uint8_t { constant, uniform, normal };

  Kind kind = Kind::constant;
  float first = 0;   ///< the constant, the lower bound, or the mean
  float second = 0;  ///< the upper bound, or the standard deviation

  [[nodiscard]] static constexpr Initializer zeros() { return {}; }
  [[nodiscard]] static constexpr Initializer constant(float value) { return {Kind::constant, value, 0}; }
  [[nodiscard]] static constexpr Initializer uniform(float low, float high) { return {Kind::uniform, low, high}; }
  [[nodiscard]] static constexpr Initializer normal(float mean, float deviation) {
    return {Kind::normal, mean, deviation};
  }
  /// Glorot's bound for a layer of `in` inputs and `out` outputs.
  [[nodiscard]] static Initializer xavier(std::size_t in, std::size_t out) {
    float const bound = std::sqrt(6.0F / static_cast<float>(in + out));
    return uniform(-bound, bound);
  }

  friend bool operator==(Initializer const&, Initializer const&) = default;
};

[[nodiscard]] constexpr std::string_view name_of(Initializer::Kind kind) noexcept {
  switch (kind) {
    case Initializer::Kind::constant: return "constant";
    case Initializer::Kind::uniform: return "uniform";
    case Initializer::Kind::normal: return "normal";
  }
  return "constant";
}

/// Mixes seed and table once; what is left per key is two multiplications an element.
[[nodiscard]] constexpr std::uint64_t stream_of(std::uint64_t seed, std::uint64_t table) noexcept {
  return mix(seed ^ mix(table));
}

/// Writes elements [from, from + out.size()) of the first row of `key`.
inline void fill_first(Initializer const& init, std::uint64_t stream, Key key, std::span<float> out,
                       std::size_t from = 0) noexcept {
  auto const draw = [base = mix(stream ^ hash_key(key))](std::size_t element) {
    return mix(base + 0x9e3779b97f4a7c15ULL * (element + 1));
  };
  // 24 bits make every float of the unit interval equally likely and exact.
  auto const unit = [](std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24F; };
  switch (init.kind) {
    case Initializer::Kind::constant:
      for (auto& value : out) value = init.first;
      break;
    case Initializer::Kind::uniform: {
      float const width = init.second - init.first;
      for (std::size_t i = 0; i < out.size(); ++i) {
        float const step = width * unit(draw(from + i));
        out[i] = init.first + step;
      }
      break;
    }
    case Initializer::Kind::normal:
      for (std::size_t i = 0; i < out.size(); ++i) {
        auto const bits = draw(from + i);
        // Box and Muller; the 1 + keeps the logarithm away from zero.
        float const radius = std::sqrt(-2.0F * std::log((1.0F + static_cast<float>(bits >> 40)) * 0x1p-24F));
        float const angle = 6.28318530718F * static_cast<float>((bits >> 8) & 0xffffff) * 0x1p-24F;
        float const scaled = init.second * (radius * std::cos(angle));
        out[i] = init.first + scaled;
      }
      break;
  }
}

}  // namespace prdist
