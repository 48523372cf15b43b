// SPDX-License-Identifier: Apache-2.0
// Definitions of table/spec_json.hpp.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <prdist/optim/wrong_number.hpp>
#include <prdist/table/json_fields.ipp>
#include <prdist/table/optimizer_json.ipp>
#include <prdist/table/row_policy_json.ipp>
#include <prdist/table/spec_json.hpp>

namespace prdist {

namespace detail {

inline constexpr std::size_t most_dim = 65536;
inline constexpr std::size_t most_parts = 65536;
inline constexpr std::size_t most_extents = 32;  ///< as many as an array of NumPy's may have
inline constexpr std::size_t most_floats = std::size_t{1} << 36;

inline boost::json::object json_of(Initializer const& init) {
  return {{"kind", name_of(init.kind)}, {"first", init.first}, {"second", init.second}};
}

/// What is wrong with the name of a table or a part, or nothing. Names stand in logs, in JSON and in file names.
inline std::string wrong_name(std::string_view name) {
  if (name.empty() || name.size() > most_name) {
    return concat("its name has ", name.size(), " characters, between 1 and ", most_name, " are allowed");
  }
  if (!is_printable_utf8(name)) return "its name has control characters or is not UTF-8: rename it";
  return {};
}

inline Initializer read_initializer(FieldReader& reader) {
  Initializer init;
  reader.read_object("init", [&](FieldReader& fields) {
    std::string kind;
    fields.read("kind", kind);
    fields.read("first", init.first);
    fields.read("second", init.second);
    using Kind = Initializer::Kind;
    bool known = false;
    for (auto const each : {Kind::constant, Kind::uniform, Kind::normal}) {
      if (kind == name_of(each)) {
        init.kind = each;
        known = true;
      }
    }
    if (!known) fields.fail("kind", concat("'", shown(kind), "' is not constant, uniform or normal"));
  });
  return init;
}

inline ApplyRule read_apply(FieldReader& reader) {
  std::string name;
  reader.read("apply", name);
  for (auto const each : {ApplyRule::immediate, ApplyRule::gather, ApplyRule::add}) {
    if (name == name_of(each)) return each;
  }
  reader.fail("apply", concat("'", shown(name), "' is not immediate, gather or add"));
  return ApplyRule::immediate;
}

/// Absent when there is no bound.
inline StalenessBound read_staleness(FieldReader& reader) {
  StalenessBound bound;
  if (!reader.has("max_staleness")) return bound;
  std::string beyond;
  reader.read("max_staleness", bound.most);
  reader.read("stale", beyond);
  if (beyond == name_of(Stale::refuse)) {
    bound.beyond = Stale::refuse;
  } else if (beyond != name_of(Stale::drop)) {
    reader.fail("stale", concat("'", shown(beyond), "' is not drop or refuse"));
  }
  return bound;
}

inline void write_staleness(StalenessBound const& bound, boost::json::object& object) {
  if (bound.most == StalenessBound::none) return;
  object["max_staleness"] = bound.most;
  object["stale"] = name_of(bound.beyond);
}

/// Absent where the servers themselves learn.
inline std::optional<Optimizer> read_learned_by(FieldReader& reader) {
  if (!reader.has("learned_by")) return std::nullopt;
  return read_optimizer(reader, "learned_by");
}

inline boost::json::object json_of(SparseSpec const& spec) {
  boost::json::object object{{"name", spec.name},
                             {"kind", "sparse"},
                             {"dim", spec.dim},
                             {"optimizer", json_of(spec.optimizer)},
                             {"init", json_of(spec.init)},
                             {"apply", name_of(spec.apply)},
                             {"seed", spec.seed}};
  write_policies(object, spec);
  write_staleness(spec.staleness, object);
  if (spec.learned_by) object["learned_by"] = json_of(*spec.learned_by);
  return object;
}

inline boost::json::object json_of(DenseSpec const& spec) {
  boost::json::array parts;
  for (auto const& part : spec.parts) {
    boost::json::object each{{"name", part.name}, {"size", part.size}, {"init", json_of(part.init)}};
    if (!part.shape.empty()) each["shape"] = boost::json::array(part.shape.begin(), part.shape.end());
    parts.push_back(std::move(each));
  }
  boost::json::object object{{"name", spec.name},
                             {"kind", "dense"},
                             {"parts", std::move(parts)},
                             {"optimizer", json_of(spec.optimizer)},
                             {"apply", name_of(spec.apply)},
                             {"seed", spec.seed}};
  write_staleness(spec.staleness, object);
  if (spec.learned_by) object["learned_by"] = json_of(*spec.learned_by);
  return object;
}

/// Absent when a part has one row.
inline void read_shape(FieldReader& reader, std::vector<std::size_t>& shape) {
  if (!reader.has("shape")) return;
  auto const* const extents = reader.get("shape")->if_array();
  if (extents == nullptr) return reader.fail("shape", "is not a list");
  for (auto const& extent : *extents) {
    boost::system::error_code error;
    shape.push_back(extent.to_number<std::size_t>(error));
    if (error) return reader.fail("shape", "has something that is not a number in range");
  }
}

/// What is wrong with a shape, or nothing.
inline std::string wrong_shape(DensePart const& part) {
  if (part.shape.empty()) return {};
  if (part.shape.size() > most_extents)
    return concat("its shape has ", part.shape.size(), " extents, at most ", most_extents, " are allowed");
  auto const shown = concat("shape ", shape_text(part.shape));
  std::size_t elements = 1;
  for (auto const extent : part.shape) {
    if (extent != 0 && elements > most_floats / extent)
      return concat(shown, " is larger than ", most_floats, " floats");
    elements *= extent;
  }
  if (elements != part.size) return concat(shown, " has ", elements, " elements and the part ", part.size);
  return {};
}

/// The first field in which two objects differ, by its path. What is of another name or kind is shown whole: the
/// fields inside have nothing in common.
inline std::string difference_of(boost::json::object const& mine, boost::json::object const& theirs,
                                 std::string const& path) {
  auto const text = [](boost::json::value const* value) {
    return value == nullptr ? std::string("absent") : boost::json::serialize(*value);
  };
  auto const compare = [&](std::string_view name) -> std::string {
    auto const* const a = mine.if_contains(name);
    auto const* const b = theirs.if_contains(name);
    if (a != nullptr && b != nullptr && *a == *b) return {};
    auto const here = concat(path, name);
    if (a != nullptr && b != nullptr && a->is_object() && b->is_object()) {
      auto const& mine_inside = a->get_object();
      auto const& theirs_inside = b->get_object();
      auto const same = [&](std::string_view field) {
        auto const* const left = mine_inside.if_contains(field);
        auto const* const right = theirs_inside.if_contains(field);
        return (left == nullptr) == (right == nullptr) && (left == nullptr || *left == *right);
      };
      if (same("name") && same("kind")) return difference_of(mine_inside, theirs_inside, concat(here, '.'));
    }
    return concat(here, " is ", text(a), " here and ", text(b), " on the server");
  };
  for (auto const* const side : {&mine, &theirs}) {
    for (auto const& field : *side) {
      if (auto what = compare({field.key().data(), field.key().size()}); !what.empty()) return what;
    }
  }
  return {};
}

/// What is wrong with the rule by which trainers learn on copies of their own, or nothing.
inline std::string wrong_learning(ApplyRule apply, std::optional<Optimizer> const& learned_by) {
  if (!learned_by) return {};
  if (apply != ApplyRule::add) return concat("it is applied by servers (", name_of(apply), ") and has learned_by, too");
  if (auto const what = wrong_number(*learned_by); !what.empty()) return concat("of its optimizer, ", what);
  if (std::holds_alternative<Ftrl>(learned_by->rule)) {
    return "ftrl computes weights from its own state, so a trainer would undo what others add (geo): take another "
           "optimizer, such as adagrad, or another strategy";
  }
  return {};
}

/// What a table of trainers that learn on copies cannot have, or nothing.
inline std::string wrong_beside_copies(SparseSpec const& spec) {
  if (!spec.learned_by) return {};
  if (spec.admission.kind != Admission::Kind::all || spec.eviction != Eviction::none) {
    return "trainers learn on copies of its rows (geo), and what a server does not admit or lets go would be lost: "
           "take another strategy, or neither admission nor eviction";
  }
  if (spec.staleness != StalenessBound{}) {
    return "trainers learn on copies of its rows (geo), whose differences no one overtakes: take another strategy, or "
           "no bound of staleness";
  }
  return {};
}

inline bool finite(Initializer const& init) {
  return std::isfinite(init.first) && std::isfinite(init.second) && std::isfinite(init.second - init.first);
}

}  // namespace detail

PRDIST_DECL std::string to_json(AnySpec const& spec) {
  return std::visit([](auto const& it) { return boost::json::serialize(detail::json_of(it)); }, spec);
}

PRDIST_DECL Result<void> check(AnySpec const& spec) {
  auto const& name = name_of(spec);
  auto const shown = detail::shown(name);
  auto const wrong = [&](auto const&... what) {
    return Error(Errc::table_shape, concat("table '", shown, "': ", what...));
  };
  if (auto const what = detail::wrong_name(name); !what.empty()) return wrong(what);
  auto const& optimizer = std::visit([](auto const& it) -> Optimizer const& { return it.optimizer; }, spec);
  if (auto const what = wrong_number(optimizer); !what.empty()) return wrong("of its optimizer, ", what);
  bool const adds =
      std::visit([](auto const& it) { return it.apply != ApplyRule::add || it.optimizer == Optimizer(adding); }, spec);
  if (!adds) return wrong("it adds differences, so its optimizer is sgd with rate -1 and nothing else");
  if (auto const what =
          std::visit([](auto const& it) { return detail::wrong_learning(it.apply, it.learned_by); }, spec);
      !what.empty()) {
    return wrong(what);
  }
  if (auto const* const sparse = std::get_if<SparseSpec>(&spec)) {
    if (sparse->dim == 0 || sparse->dim > detail::most_dim) {
      return wrong("dim is ", sparse->dim, ", between 1 and ", detail::most_dim, " are allowed");
    }
    if (!detail::finite(sparse->init)) return wrong("a number of its initializer is not finite");
    if (auto const what = detail::wrong_policies(*sparse); !what.empty()) return wrong(what);
    if (auto const what = detail::wrong_beside_copies(*sparse); !what.empty()) return wrong(what);
  } else {
    auto const& dense = std::get<DenseSpec>(spec);
    if (dense.parts.size() > detail::most_parts)
      return wrong(dense.parts.size(), " parts, at most ", detail::most_parts, " are allowed");
    std::size_t size = 0;
    std::set<std::string_view> names;
    for (auto const& part : dense.parts) {
      if (auto const what = detail::wrong_name(part.name); !what.empty()) {
        return wrong("part '", detail::shown(part.name), "': ", what);
      }
      if (!names.insert(part.name).second) return wrong("two parts have the name '", part.name, "'");
      if (part.size > detail::most_floats || (size += part.size) > detail::most_floats) {
        return wrong("part '", detail::shown(part.name), "' makes it larger than ", detail::most_floats, " floats");
      }
      if (auto const what = detail::wrong_shape(part); !what.empty()) {
        return wrong("part '", detail::shown(part.name), "': ", what);
      }
      if (!detail::finite(part.init))
        return wrong("a number of the initializer of part '", detail::shown(part.name), "' is not finite");
    }
    if (size == 0) return wrong("it has no elements");
  }
  return {};
}

PRDIST_DECL Result<AnySpec> spec_from_json(std::string_view text) {
  boost::system::error_code error;
  auto const value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  if (error) return Error(Errc::wire_message, "a table declaration is not JSON: ", error.message());
  detail::FieldReader reader(value, "declaration");
  std::string name, kind;
  reader.read("name", name);
  if (reader.error().empty()) reader.rename(concat("table '", detail::shown(name), "'"));
  reader.read("kind", kind);
  AnySpec spec;
  if (kind == "sparse") {
    SparseSpec sparse{.name = name};
    reader.read("dim", sparse.dim);
    reader.read("seed", sparse.seed);
    sparse.optimizer = detail::read_optimizer(reader);
    sparse.init = detail::read_initializer(reader);
    sparse.apply = detail::read_apply(reader);
    detail::read_policies(reader, sparse);
    sparse.staleness = detail::read_staleness(reader);
    sparse.learned_by = detail::read_learned_by(reader);
    spec = std::move(sparse);
  } else if (kind == "dense") {
    DenseSpec dense{.name = name};
    reader.read("seed", dense.seed);
    dense.optimizer = detail::read_optimizer(reader);
    dense.apply = detail::read_apply(reader);
    dense.staleness = detail::read_staleness(reader);
    dense.learned_by = detail::read_learned_by(reader);
    auto const* const parts = reader.get("parts");
    if (parts != nullptr && !parts->is_array()) reader.fail("parts", "is not a list");
    if (parts != nullptr && parts->is_array()) {
      for (auto const& each : parts->get_array()) {
        reader.read_element(each, "parts", [&](detail::FieldReader& fields) {
          DensePart part;
          fields.read("name", part.name);
          fields.read("size", part.size);
          part.init = detail::read_initializer(fields);
          detail::read_shape(fields, part.shape);
          dense.parts.push_back(std::move(part));
        });
      }
    }
    spec = std::move(dense);
  } else {
    reader.fail("kind", concat("'", detail::shown(kind), "' is not sparse or dense"));
  }
  if (!reader.error().empty()) return Error(Errc::wire_message, reader.error());
  if (auto const checked = check(spec); !checked) return checked.error();
  return spec;
}

PRDIST_DECL std::string difference(AnySpec const& here, AnySpec const& there) {
  if (here == there) return {};
  boost::json::object const mine = std::visit([](auto const& it) { return detail::json_of(it); }, here);
  boost::json::object const theirs = std::visit([](auto const& it) { return detail::json_of(it); }, there);
  auto const what = detail::difference_of(mine, theirs, "");
  return what.empty() ? "they differ" : what;
}

}  // namespace prdist
