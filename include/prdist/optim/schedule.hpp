// SPDX-License-Identifier: Apache-2.0
// How the rate of a rule changes with t, the updates that a row has had: the rate is multiplied by factor_at(t).
// The row counts for itself and keeps the count with its state. A dense table's ranges are all updated by every push,
// so there t is the table's step; a sparse row ages when its key comes, as Adam's corrections do. Either is the same
// for any number of servers, threads and other keys, and is saved and loaded with the row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/optim/field.hpp>
#include <prdist/optim/fixed_math.hpp>

namespace prdist {

/// A flat value rather than a variant of shapes, because kernels on a GPU carry it.
struct Schedule {
  enum class Kind : std::uint8_t { constant, step, exponential, inverse_time, polynomial, cosine, piecewise };
  struct Piece {
    std::uint32_t from = 0;  ///< first t it holds for
    float factor = 1;
    friend bool operator==(Piece const&, Piece const&) = default;
  };
  static constexpr std::size_t most_pieces = 8;

  Kind kind = Kind::constant;
  std::uint32_t steps = 1;  ///< of one period, or until the end
  float factor = 1;         ///< per period
  float power = 1;
  float last = 0;  ///< what polynomial and cosine end at
  std::uint32_t warmup = 0;
  float warmup_from = 0;
  std::uint32_t piece_count = 0;
  std::array<Piece, most_pieces> pieces{};

  [[nodiscard]] static constexpr Schedule constant() { return {}; }
  /// factor ^ floor(t / steps)
  [[nodiscard]] static constexpr Schedule step(std::uint32_t steps, float factor) {
    return {.kind = Kind::step, .steps = steps, .factor = factor};
  }
  /// factor ^ (t / steps)
  [[nodiscard]] static constexpr Schedule exponential(std::uint32_t steps, float factor) {
    return {.kind = Kind::exponential, .steps = steps, .factor = factor};
  }
  /// 1 / (1 + factor * t / steps)
  [[nodiscard]] static constexpr Schedule inverse_time(std::uint32_t steps, float factor) {
    return {.kind = Kind::inverse_time, .steps = steps, .factor = factor};
  }
  /// From 1 to `last` in `steps`: last + (1 - last) * (1 - t / steps) ^ power
  [[nodiscard]] static constexpr Schedule polynomial(std::uint32_t steps, float power = 1, float last = 0) {
    return {.kind = Kind::polynomial, .steps = steps, .power = power, .last = last};
  }
  /// From 1 to `last` in `steps` along half a wave: last + (1 - last) * (1 + cos(pi * t / steps)) / 2
  [[nodiscard]] static constexpr Schedule cosine(std::uint32_t steps, float last = 0) {
    return {.kind = Kind::cosine, .steps = steps, .last = last};
  }
  /// 1, and from each piece's t on its factor. The pieces stand in ascending order.
  /// @throws Error config.invalid when there are more than `most_pieces`
  [[nodiscard]] static Schedule piecewise(std::initializer_list<Piece> pieces) {
    if (pieces.size() > most_pieces) {
      throw Error(Errc::config_invalid, "Schedule::piecewise: ", pieces.size(), " pieces, at most ", most_pieces,
                  " are possible: leave some out, or take exponential or polynomial");
    }
    Schedule schedule{.kind = Kind::piecewise};
    for (auto const& piece : pieces) schedule.pieces[schedule.piece_count++] = piece;
    return schedule;
  }

  /// The same behind a warm-up: in `steps` from `from` to 1 in a line; this schedule's t begins when that is over.
  [[nodiscard]] constexpr Schedule with_warmup(std::uint32_t of_steps, float from = 0) const {
    auto schedule = *this;
    schedule.warmup = of_steps;
    schedule.warmup_from = from;
    return schedule;
  }

  [[nodiscard]] constexpr bool is_constant() const noexcept { return kind == Kind::constant && warmup == 0; }

  /// For the update after `t` others. The same bits on every machine.
  [[nodiscard]] constexpr double factor_at(double t) const noexcept {
    if (t < warmup) return warmup_from + (1.0 - warmup_from) * (t / warmup);
    t -= warmup;
    double const periods = t / steps;
    double const left = periods < 1 ? 1 - periods : 0;
    switch (kind) {
      case Kind::constant: return 1;
      case Kind::step: return fixed_power(factor, static_cast<double>(static_cast<std::uint64_t>(periods)));
      case Kind::exponential: return fixed_power(factor, periods);
      case Kind::inverse_time: return 1 / (1 + factor * periods);
      case Kind::polynomial: return last + (1.0 - last) * fixed_power(left, power);
      case Kind::cosine: return last + (1.0 - last) * (1 + fixed_cos_pi(1 - left)) / 2;
      case Kind::piecewise: break;
    }
    double at = 1;
    for (std::uint32_t i = 0; i < piece_count && t >= pieces[i].from; ++i) at = pieces[i].factor;
    return at;
  }

  /// Names the numbers that its kind uses, but for the pieces.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    auto const kind = self.kind;
    if (kind != Kind::constant && kind != Kind::piecewise) visit("steps", self.steps, Limit::positive);
    if (kind == Kind::step || kind == Kind::exponential) visit("factor", self.factor, Limit::positive);
    if (kind == Kind::inverse_time) visit("factor", self.factor, Limit::not_negative);
    if (kind == Kind::polynomial) visit("power", self.power, Limit::not_negative);
    if (kind == Kind::polynomial || kind == Kind::cosine) visit("last", self.last, Limit::not_negative);
    visit("warmup", self.warmup, Limit::finite);
    visit("warmup_from", self.warmup_from, Limit::not_negative);
  }

  friend bool operator==(Schedule const&, Schedule const&) = default;
};

inline constexpr std::array schedule_kinds{
    Schedule::Kind::constant,   Schedule::Kind::step,   Schedule::Kind::exponential, Schedule::Kind::inverse_time,
    Schedule::Kind::polynomial, Schedule::Kind::cosine, Schedule::Kind::piecewise};

[[nodiscard]] constexpr std::string_view name_of(Schedule::Kind kind) noexcept {
  switch (kind) {
    case Schedule::Kind::constant: return "constant";
    case Schedule::Kind::step: return "step";
    case Schedule::Kind::exponential: return "exponential";
    case Schedule::Kind::inverse_time: return "inverse_time";
    case Schedule::Kind::polynomial: return "polynomial";
    case Schedule::Kind::cosine: return "cosine";
    case Schedule::Kind::piecewise: return "piecewise";
  }
  return "constant";
}

}  // namespace prdist
