// SPDX-License-Identifier: Apache-2.0
// Whether rows of a checkpoint fit into a table of this program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include <prdist/core/text.hpp>
#include <prdist/table/row_layout.hpp>
#include <prdist/table/spec_json.hpp>

namespace prdist {

/// Why rows that were saved under one declaration do not fit into a table of the other; empty when they do. Rates and
/// the like may differ, the shape of a row may not.
[[nodiscard]] inline std::string layout_difference(AnySpec const& here, AnySpec const& saved) {
  constexpr auto one_is_scheduled = "one has a learning-rate schedule and the other none";
  auto const rule = [](AnySpec const& spec) {
    return std::visit([](auto const& it) { return name_of(it.optimizer); }, spec);
  };
  auto const differs = [](std::string_view what, auto const& mine, auto const& theirs) {
    return concat(what, " is ", mine, " here and ", theirs, " in the checkpoint");
  };
  if (here.index() != saved.index()) return "one is dense and the other sparse";
  auto const adds = [](AnySpec const& spec) {
    return std::visit([](auto const& it) { return it.apply == ApplyRule::add; }, spec);
  };
  if (adds(here) != adds(saved)) return "one is of a job with geo, whose workers keep the optimizer, and the other not";
  if (rule(here) != rule(saved)) return differs("the optimizer", rule(here), rule(saved));
  // Of a table that adds it is the workers who keep the state, and their copies have to fit as rows do.
  auto const learned_by = [](AnySpec const& spec) {
    return std::visit([](auto const& it) { return it.learned_by; }, spec);
  };
  if (auto const mine = learned_by(here), theirs = learned_by(saved); mine && theirs) {
    if (name_of(*mine) != name_of(*theirs)) return differs("the optimizer", name_of(*mine), name_of(*theirs));
    if (row_floats(*mine, 1) != row_floats(*theirs, 1)) return one_is_scheduled;
  }
  if (auto const* const mine = std::get_if<SparseSpec>(&here)) {
    auto const& theirs = std::get<SparseSpec>(saved);
    if (mine->dim != theirs.dim) return differs("dim", mine->dim, theirs.dim);
    if (mine->precision != theirs.precision) {
      return differs("the precision", name_of(mine->precision), name_of(theirs.precision));
    }
    if (mine->optimizer.schedule.is_constant() != theirs.optimizer.schedule.is_constant()) return one_is_scheduled;
    if (auto const own = RowLayout(*mine).bytes(), other = RowLayout(theirs).bytes(); own != other) {
      return differs("the size of a row with its statistics", own, other);
    }
    return {};
  }
  auto const& mine = std::get<DenseSpec>(here);
  auto const& theirs = std::get<DenseSpec>(saved);
  // Of the same size, another network's weights would be taken for this one's.
  if (mine.parts.size() != theirs.parts.size()) {
    return differs("the number of dense parts", mine.parts.size(), theirs.parts.size());
  }
  auto const named = [](DensePart const& part) { return concat(part.name, " (", shape_text(part.extents()), ')'); };
  for (std::size_t i = 0; i < mine.parts.size(); ++i) {
    auto const &own = mine.parts[i], &other = theirs.parts[i];
    bool const shaped = !own.shape.empty() && !other.shape.empty();  // checkpoints of old and small parts have none
    if (own.name == other.name && own.size == other.size && (!shaped || own.shape == other.shape)) continue;
    return differs(concat("dense part ", i), named(own), named(other));
  }
  if (auto const own = row_floats(mine.optimizer, 1), other = row_floats(theirs.optimizer, 1); own != other) {
    return one_is_scheduled;
  }
  return {};
}

}  // namespace prdist
