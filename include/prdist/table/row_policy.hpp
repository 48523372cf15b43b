// SPDX-License-Identifier: Apache-2.0
// What a sparse table may be asked to do beyond keeping rows, as values of its declaration. Everything is off at first
// and costs nothing then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prdist {

/// How weights are kept. Half-precision ones are rounded stochastically, so that small steps count on average; a
/// pull gives floats in any case, and the optimizer's state stays fp32.
enum class Precision : std::uint8_t { fp32, bf16, fp16 };

[[nodiscard]] constexpr std::string_view name_of(Precision precision) noexcept {
  return precision == Precision::bf16 ? "bf16" : precision == Precision::fp16 ? "fp16" : "fp32";
}

/// Which keys get a row. The gradients of others are dropped, and a pull gives them the first row.
///   all          every key, at its first push
///   count        at its n-th push; 12 bytes for each of `capacity` keys on probation. They share places by eights, of
///                more those seen least begin anew: 1 key in 7,000 when a quarter of `capacity` are on probation, 1 in
///                140 when half are, 1 in 7 when all are.
///   probability  each push of it is a draw
///   bloom        at about its n-th push: a few bytes for each of `capacity` keys, and at most a share of
///                `false_positives` of the others comes in too early. Forgets all when more have come.
struct Admission {
  enum class Kind : std::uint8_t { all, count, probability, bloom };

  Kind kind = Kind::all;
  std::uint32_t pushes = 1;
  double probability = 1;
  std::uint64_t capacity = std::uint64_t{1} << 20;
  double false_positives = 0.01;

  [[nodiscard]] static constexpr Admission after(std::uint32_t n) { return {.kind = Kind::count, .pushes = n}; }
  [[nodiscard]] static constexpr Admission by_chance(double p) { return {.kind = Kind::probability, .probability = p}; }

  friend bool operator==(Admission const&, Admission const&) = default;
};

[[nodiscard]] constexpr std::string_view name_of(Admission::Kind kind) noexcept {
  switch (kind) {
    case Admission::Kind::all: return "all";
    case Admission::Kind::count: return "count";
    case Admission::Kind::probability: return "probability";
    case Admission::Kind::bloom: return "bloom";
  }
  return "all";
}

/// Shows, clicks and the last day of each row, 16 bytes behind its state, and what a shrink does with them.
struct Statistics {
  bool kept = false;
  float nonclick_weight = 0.1F;  ///< score = (show - click) * nonclick_weight + click * click_weight
  float click_weight = 1;
  float decay = 1;                 ///< of shows and clicks, at each shrink
  float delete_below = 0;          ///< rows of a smaller score go
  std::uint32_t unseen_days = 30;  ///< rows not pushed for more days go

  friend bool operator==(Statistics const&, Statistics const&) = default;
};

/// Which rows go when a push needs room and the memory ceiling leaves none.
enum class Eviction : std::uint8_t {
  none,    ///< the push fails
  lru,     ///< those not pushed for longest, roughly: the second chance of a clock
  unseen,  ///< those whose last day is longest ago; needs statistics
  score,   ///< those of the smallest score; needs statistics
};

[[nodiscard]] constexpr std::string_view name_of(Eviction eviction) noexcept {
  switch (eviction) {
    case Eviction::none: return "none";
    case Eviction::lru: return "lru";
    case Eviction::unseen: return "unseen";
    case Eviction::score: return "score";
  }
  return "none";
}

/// All of it, as a program gives it for the sparse tables of a model.
struct RowPolicy {
  Precision precision = Precision::fp32;
  Admission admission{};
  Statistics statistics{};
  Eviction eviction = Eviction::none;

  friend bool operator==(RowPolicy const&, RowPolicy const&) = default;
};

}  // namespace prdist
