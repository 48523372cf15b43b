// SPDX-License-Identifier: Apache-2.0
// Click data whose truth is known: rows in Criteo's shape, drawn from a planted model. The best AUC that any
// training can reach is that of the planted probabilities. A row is a pure function of (seed, set, index), made of
// integer arithmetic and the four IEEE operations alone, so a seed means the same bytes on every machine.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <prdist/core/types.hpp>
#include <prdist/data/batch.hpp>
#include <prdist/data/counter_random.hpp>

namespace prdist {

enum class PlantedSet : std::uint8_t { train, test };

struct PlantedRow {
  bool click = false;
  double probability = 0;                     ///< of a click, in the planted model
  std::array<std::uint16_t, 13> thousandths;  ///< the dense features, times 1000
  std::array<std::uint32_t, 26> ids;          ///< 1 … 1,000,000; no id belongs to two slots
};

/// What makes a click likely:
///  - a weight per id, strong in small slots and weak in large ones, whose ids are too rare to be learned well
///  - pairs of slots whose ids carry hidden vectors: their product counts, and its mean over either slot is zero,
///    so a model without interactions sees nothing of it
///  - the dense features, every third one with a bend: the middle counts most
class Planted {
 public:
  static constexpr std::size_t slots = 26;
  static constexpr std::size_t dense_dim = 13;

  explicit constexpr Planted(std::uint64_t seed = 1) noexcept : truth_(CounterRandom(seed).fork(0)), seed_(seed) {}

  [[nodiscard]] PlantedRow row(PlantedSet set, std::uint64_t index) const noexcept {
    auto const random = CounterRandom(seed_).fork(1 + static_cast<std::uint64_t>(set)).fork(index);
    PlantedRow row;
    std::array<std::uint32_t, slots> ranks;
    std::uint32_t first = 0;
    for (std::size_t s = 0; s < slots; ++s) {
      auto const [size, skew] = vocabulary[s];
      ranks[s] = static_cast<std::uint32_t>(static_cast<double>(size) * power(random.unit(s), skew));
      // The multiplier shares no factor with a million, so this is a bijection: ids of a slot lie scattered.
      row.ids[s] = static_cast<std::uint32_t>(1 + std::uint64_t{first + ranks[s]} * 387420489U % 1000000U);
      first += size;
    }
    for (std::size_t d = 0; d < dense_dim; ++d) {
      row.thousandths[d] = static_cast<std::uint16_t>(1000 * power(random.unit(slots + d), 2));
    }
    row.probability = sigmoid(logit(ranks, row.thousandths));
    row.click = random.unit(slots + dense_dim) < row.probability;
    return row;
  }

  /// Appends a row to a batch of 26 slots and 13 dense features.
  static void append(Batch& batch, PlantedRow const& row) {
    batch.labels.push_back(row.click ? 1.0F : 0.0F);
    for (auto const value : row.thousandths) batch.dense.push_back(static_cast<float>(value / 1000.0));
    for (auto const id : row.ids) {
      batch.keys.push_back(id);
      batch.end_slot();
    }
  }

  /// Rows [first, first + count) as a batch.
  [[nodiscard]] Batch batch(PlantedSet set, std::uint64_t first, std::size_t count) const {
    Batch batch;
    batch.slots = slots;
    batch.dense_dim = dense_dim;
    for (std::size_t i = 0; i < count; ++i) append(batch, row(set, first + i));
    return batch;
  }

 private:
  struct Vocabulary {
    std::uint32_t size;
    unsigned skew;  // rank = size * u^skew: a power law with exponent 1 - 1/skew
  };
  static constexpr std::array<Vocabulary, slots> vocabulary{
      {{40, 2},   {600, 3},  {300000, 2}, {3000, 3}, {300, 3}, {20, 2},    {12000, 3}, {600, 3},  {3, 1},
       {2000, 3}, {5000, 3}, {300000, 2}, {3000, 3}, {26, 2},  {10000, 3}, {150, 2},   {10, 1},   {5000, 3},
       {2000, 3}, {4, 1},    {300000, 2}, {18, 2},   {15, 2},  {20000, 3}, {100, 2},   {30000, 3}}};

  struct Pair {
    std::size_t left, right;
    double strength;
  };
  static constexpr std::array<Pair, 6> pairs{
      {{0, 5, 0.8}, {13, 21, 0.8}, {22, 16, 0.8}, {24, 0, 0.6}, {4, 5, 0.6}, {13, 1, 0.6}}};

  static constexpr double power(double x, unsigned exponent) noexcept {
    double result = x;
    while (--exponent > 0) result *= x;
    return result;
  }

  /// Mean 0, variance 1, within ±3.5: four uniform numbers of 16 bits, added.
  static constexpr double bell(std::uint64_t bits) noexcept {
    auto const sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<double>(sum) * 0x1p-16 - 2) * 1.7320508075688772;
  }

  /// exp from the four operations: std::exp differs in the last bit between libraries.
  static double exponential(double x) noexcept {
    auto const halvings = static_cast<int>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    auto const rest = x - halvings * 0.6931471805599453;
    double sum = 1, term = 1;
    for (int i = 1; i < 16; ++i) {
      term *= rest / i;
      sum += term;
    }
    return std::ldexp(sum, halvings);
  }
  static double sigmoid(double x) noexcept { return 1 / (1 + exponential(-x)); }

  /// Number `aspect` of the hidden numbers of an id.
  [[nodiscard]] double hidden(std::size_t slot, std::uint32_t rank, std::uint64_t aspect) const noexcept {
    return bell(truth_.fork(slot * 8 + aspect).bits(rank));
  }

  [[nodiscard]] double logit(std::array<std::uint32_t, slots> const& ranks,
                             std::array<std::uint16_t, dense_dim> const& thousandths) const noexcept {
    double z = -1.5;
    for (std::size_t s = 0; s < slots; ++s) {
      auto const size = vocabulary[s].size;
      z += (size > 20000 ? 0.08 : size > 1000 ? 0.15 : 0.33) * hidden(s, ranks[s], 0);
    }
    for (auto const& [left, right, strength] : pairs) {
      z += strength * 0.7 *
           (hidden(left, ranks[left], 1) * hidden(right, ranks[right], 1) +
            hidden(left, ranks[left], 2) * hidden(right, ranks[right], 2));
    }
    for (std::size_t d = 0; d < dense_dim; ++d) {
      auto const x = thousandths[d] / 1000.0;
      auto const weight = bell(truth_.fork(1000).bits(d));
      z += 0.5 * weight * (d % 3 == 0 ? 4 * x * (1 - x) - 0.5 : x - 0.33);
    }
    return z;
  }

  CounterRandom truth_;
  std::uint64_t seed_;
};

}  // namespace prdist
