// SPDX-License-Identifier: Apache-2.0
// The policies of a sparse table's rows as JSON, for table/spec_json.ipp. A field that is absent keeps its default.
#pragma once

#include <boost/json/object.hpp>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>
#include <prdist/table/spec.hpp>

namespace prdist::detail {

/// A name from outside, as it may stand in a message.
std::string shown(std::string_view name);

inline void write_policies(boost::json::object& object, SparseSpec const& spec) {
  auto const& admission = spec.admission;
  auto const& statistics = spec.statistics;
  object["precision"] = name_of(spec.precision);
  object["admission"] = boost::json::object{{"kind", name_of(admission.kind)},
                                            {"pushes", admission.pushes},
                                            {"probability", admission.probability},
                                            {"capacity", admission.capacity},
                                            {"false_positives", admission.false_positives}};
  object["statistics"] = boost::json::object{{"kept", statistics.kept},
                                             {"nonclick_weight", statistics.nonclick_weight},
                                             {"click_weight", statistics.click_weight},
                                             {"decay", statistics.decay},
                                             {"delete_below", statistics.delete_below},
                                             {"unseen_days", statistics.unseen_days}};
  object["eviction"] = name_of(spec.eviction);
}

/// Reads one of the values that have names.
template <class Reader, class Value>
void read_named(Reader& reader, std::string_view field, Value& out, std::initializer_list<Value> values) {
  std::string name;
  reader.read(field, name);
  std::string all;
  for (auto const each : values) {
    if (name == name_of(each)) {
      out = each;
      return;
    }
    all += concat(all.empty() ? "" : ", ", name_of(each));
  }
  reader.fail(field, concat("'", shown(name), "' is none of ", all));
}

template <class Reader>
void read_policies(Reader& reader, SparseSpec& spec) {
  if (reader.has("precision")) {
    read_named(reader, "precision", spec.precision, {Precision::fp32, Precision::bf16, Precision::fp16});
  }
  if (reader.has("eviction")) {
    read_named(reader, "eviction", spec.eviction, {Eviction::none, Eviction::lru, Eviction::unseen, Eviction::score});
  }
  if (reader.has("admission")) {
    reader.read_object("admission", [&](Reader& fields) {
      using Kind = Admission::Kind;
      auto& admission = spec.admission;
      read_named(fields, "kind", admission.kind, {Kind::all, Kind::count, Kind::probability, Kind::bloom});
      if (fields.has("pushes")) fields.read("pushes", admission.pushes);
      if (fields.has("probability")) fields.read("probability", admission.probability);
      if (fields.has("capacity")) fields.read("capacity", admission.capacity);
      if (fields.has("false_positives")) fields.read("false_positives", admission.false_positives);
    });
  }
  if (reader.has("statistics")) {
    reader.read_object("statistics", [&](Reader& fields) {
      auto& statistics = spec.statistics;
      fields.read("kept", statistics.kept);
      if (fields.has("nonclick_weight")) fields.read("nonclick_weight", statistics.nonclick_weight);
      if (fields.has("click_weight")) fields.read("click_weight", statistics.click_weight);
      if (fields.has("decay")) fields.read("decay", statistics.decay);
      if (fields.has("delete_below")) fields.read("delete_below", statistics.delete_below);
      if (fields.has("unseen_days")) fields.read("unseen_days", statistics.unseen_days);
    });
  }
}

/// What is wrong with the policies, or nothing.
inline std::string wrong_policies(SparseSpec const& spec) {
  constexpr std::uint64_t most_capacity = std::uint64_t{1} << 36;
  auto const& admission = spec.admission;
  using Kind = Admission::Kind;
  bool const counts = admission.kind == Kind::count || admission.kind == Kind::bloom;
  if (counts && (admission.pushes == 0 || (admission.kind == Kind::bloom && admission.pushes > 255))) {
    return concat("admission.pushes is ", admission.pushes, ", between 1 and ",
                  admission.kind == Kind::bloom ? "255" : "4294967295", " are allowed");
  }
  if (counts && (admission.capacity == 0 || admission.capacity > most_capacity)) {
    return concat("admission.capacity is ", admission.capacity, ", between 1 and ", most_capacity, " keys are allowed");
  }
  if (admission.kind == Kind::probability && !(admission.probability > 0 && admission.probability <= 1)) {
    return concat("admission.probability is ", admission.probability, ", it must be above 0 and at most 1");
  }
  if (admission.kind == Kind::bloom && !(admission.false_positives >= 1e-7 && admission.false_positives <= 0.5)) {
    return concat("admission.false_positives is ", admission.false_positives, ", between 1e-7 and 0.5 are allowed");
  }
  auto const& statistics = spec.statistics;
  if (!std::isfinite(statistics.nonclick_weight) || !std::isfinite(statistics.click_weight) ||
      !std::isfinite(statistics.delete_below)) {
    return "a number of its statistics is not finite";
  }
  if (!(statistics.decay >= 0 && statistics.decay <= 1)) {
    return concat("statistics.decay is ", statistics.decay, ", between 0 and 1 are allowed");
  }
  if ((spec.eviction == Eviction::unseen || spec.eviction == Eviction::score) && !statistics.kept) {
    return concat("eviction is ", name_of(spec.eviction), ", which needs statistics.kept");
  }
  return {};
}

}  // namespace prdist::detail
