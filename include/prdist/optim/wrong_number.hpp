// SPDX-License-Identifier: Apache-2.0
// Whether the numbers of an optimizer mean something: told before a table is made of them, by whoever reads them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include <prdist/core/text.hpp>
#include <prdist/optim/field.hpp>
#include <prdist/optim/optimizer.hpp>

namespace prdist {

/// The first number with which weights would become NaN or the declaration has no meaning, or nothing.
[[nodiscard]] inline std::string wrong_number(Optimizer const& optimizer) {
  std::string wrong;
  auto const check_fields = [&]<class Part>(Part const& part, std::string_view path) {
    Part::fields(part, [&](char const* name, auto const& value, Limit limit) {
      if (!wrong.empty() || within(limit, static_cast<double>(value))) return;
      wrong = concat(path, name, " is ", value, ": ", text_of(limit));
    });
  };
  std::visit([&](auto const& rule) { check_fields(rule, ""); }, optimizer.rule);
  check_fields(optimizer.penalty, "penalty.");
  check_fields(optimizer.schedule, "schedule.");
  if (!wrong.empty()) return wrong;
  auto const [low, high] = optimizer.bounds;
  constexpr auto none = std::numeric_limits<float>::infinity();
  if (!(low <= high && low < none && high > -none)) {
    return concat("bounds are from ", low, " to ", high, ": no weight is between them");
  }
  auto const& schedule = optimizer.schedule;
  for (std::uint32_t i = 0; i < schedule.piece_count; ++i) {
    auto const& [from, factor] = schedule.pieces[i];
    if (!within(Limit::not_negative, factor)) {
      return concat("schedule.pieces has the factor ", factor, ": ", text_of(Limit::not_negative));
    }
    if (i > 0 && from <= schedule.pieces[i - 1].from) {
      return concat("schedule.pieces has ", from, " behind ", schedule.pieces[i - 1].from, ": they must ascend");
    }
  }
  return {};
}

}  // namespace prdist
