// SPDX-License-Identifier: Apache-2.0
// Optimizers as JSON: the rule's name and numbers, and a penalty, bounds and a schedule where there are some.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <prdist/core/text.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/json_fields.ipp>

namespace prdist::detail {

template <class Part>
void write_fields(Part const& part, boost::json::object& object) {
  Part::fields(part, [&](char const* name, auto const& value, Limit) { object[name] = value; });
}

inline boost::json::object json_of(Schedule const& schedule) {
  boost::json::object object{{"kind", name_of(schedule.kind)}};
  if (schedule.kind == Schedule::Kind::piecewise) {
    boost::json::array pieces;
    for (std::uint32_t i = 0; i < schedule.piece_count; ++i) {
      auto const& piece = schedule.pieces[i];
      pieces.push_back(boost::json::object{{"from", piece.from}, {"factor", piece.factor}});
    }
    object["pieces"] = std::move(pieces);
  }
  write_fields(schedule, object);
  return object;
}

/// What is not declared is left out, so that the usual table is short to read.
inline boost::json::object json_of(Optimizer const& optimizer) {
  boost::json::object object{{"name", name_of(optimizer)}};
  std::visit([&](auto const& rule) { write_fields(rule, object); }, optimizer.rule);
  if (!optimizer.penalty.is_none()) write_fields(optimizer.penalty, object["penalty"].emplace_object());
  if (!optimizer.bounds.is_none()) {
    auto& bounds = object["bounds"].emplace_object();
    if (std::isfinite(optimizer.bounds.low)) bounds["low"] = optimizer.bounds.low;
    if (std::isfinite(optimizer.bounds.high)) bounds["high"] = optimizer.bounds.high;
  }
  if (optimizer.schedule != Schedule{}) object["schedule"] = json_of(optimizer.schedule);
  return object;
}

template <class Part>
void read_fields(FieldReader& fields, Part& part) {
  Part::fields(part, [&](char const* name, auto& value, Limit) { fields.read(name, value); });
}

inline UpdateRule read_rule(FieldReader& fields, std::string_view name) {
  auto rule = rule_named(name);
  if (!rule) {
    fields.fail("name", concat("'", shown(name), "' is no optimizer of this program, which was built without it"));
    return {};
  }
  std::visit([&](auto& it) { read_fields(fields, it); }, *rule);
  return *rule;
}

inline void read_pieces(FieldReader& fields, Schedule& schedule) {
  auto const* const pieces = fields.get("pieces");
  if (pieces == nullptr) return;
  if (!pieces->is_array()) return fields.fail("pieces", "is not a list");
  auto const& list = pieces->get_array();
  if (list.size() > Schedule::most_pieces) {
    return fields.fail("pieces", concat("has ", list.size(), ", at most ", Schedule::most_pieces, " are possible"));
  }
  for (auto const& each : list) {
    auto& piece = schedule.pieces[schedule.piece_count++];
    fields.read_element(each, "pieces", [&](FieldReader& inside) {
      inside.read("from", piece.from);
      inside.read("factor", piece.factor);
    });
  }
}

inline void read_schedule(FieldReader& fields, Schedule& schedule) {
  std::string name;
  fields.read("kind", name);
  for (auto const kind : schedule_kinds) {
    if (name != name_of(kind)) continue;
    schedule.kind = kind;
    if (kind == Schedule::Kind::piecewise) read_pieces(fields, schedule);
    return read_fields(fields, schedule);
  }
  fields.fail("kind", concat("'", shown(name), "' is no schedule of this server"));
}

inline Optimizer read_optimizer(FieldReader& reader, std::string_view name_of_field = "optimizer") {
  Optimizer optimizer;
  reader.read_object(name_of_field, [&](FieldReader& fields) {
    std::string name;
    fields.read("name", name);
    optimizer.rule = read_rule(fields, name);
    if (fields.has("penalty")) {
      fields.read_object("penalty", [&](FieldReader& inside) { read_fields(inside, optimizer.penalty); });
    }
    if (fields.has("bounds")) {
      fields.read_object("bounds", [&](FieldReader& inside) {
        if (inside.has("low")) inside.read("low", optimizer.bounds.low);
        if (inside.has("high")) inside.read("high", optimizer.bounds.high);
      });
    }
    if (fields.has("schedule")) {
      fields.read_object("schedule", [&](FieldReader& inside) { read_schedule(inside, optimizer.schedule); });
    }
  });
  return optimizer;
}

}  // namespace prdist::detail
