// SPDX-License-Identifier: Apache-2.0
// Definitions of table/spec_json.hpp.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <set>
#include <type_traits>
#include <utility>

#include <prdist/table/spec_json.hpp>

namespace prdist {

namespace detail {

inline constexpr std::size_t most_name = 256;
inline constexpr std::size_t most_dim = 65536;
inline constexpr std::size_t most_parts = 65536;
inline constexpr std::size_t most_floats = std::size_t{1} << 36;

inline boost::json::object json_of(Initializer const& init) {
  return {{"kind", name_of(init.kind)}, {"first", init.first}, {"second", init.second}};
}

inline boost::json::object json_of(Optimizer const& optimizer) {
  boost::json::object object{{"name", name_of(optimizer)}};
  std::visit(
      [&](auto const& rule) { rule.fields(rule, [&](char const* name, auto const& value) { object[name] = value; }); },
      optimizer);
  return object;
}

/// A name from outside, as it may stand in a message.
inline std::string shown(std::string_view name) {
  auto text = name.size() <= most_name ? std::string(name) : concat(name.substr(0, 64), "...");
  if (is_printable_utf8(text)) return text;
  for (auto& c : text) c = c >= ' ' && c <= '~' ? c : '.';
  return text;
}

/// What is wrong with the name of a table or a part, or nothing. Names stand in logs, in JSON and in file names.
inline std::string wrong_name(std::string_view name) {
  if (name.empty() || name.size() > most_name) {
    return concat("its name has ", name.size(), " characters, between 1 and ", most_name, " are allowed");
  }
  if (!is_printable_utf8(name)) return "its name has control characters or is not UTF-8: rename it";
  return {};
}

/// Reads fields of one JSON object; the first thing that is wrong stops it.
class FieldReader {
 public:
  FieldReader(boost::json::value const& value, std::string where) : where_(std::move(where)) {
    object_ = value.if_object();
    if (object_ == nullptr) fail("", "is not an object");
  }

  [[nodiscard]] boost::json::value const* get(std::string_view name) {
    if (object_ == nullptr) return nullptr;
    auto const* const value = object_->if_contains(name);
    if (value == nullptr) fail(name, "is missing");
    return value;
  }

  [[nodiscard]] bool has(std::string_view name) const { return object_ != nullptr && object_->contains(name); }

  void read(std::string_view name, std::string& out) {
    if (auto const* const value = get(name)) {
      if (auto const* const text = value->if_string()) {
        out.assign(text->data(), text->size());
      } else {
        fail(name, "is not a text");
      }
    }
  }

  void read(std::string_view name, bool& out) {
    if (auto const* const value = get(name)) {
      if (auto const* const flag = value->if_bool()) {
        out = *flag;
      } else {
        fail(name, "is not true or false");
      }
    }
  }

  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) void read(std::string_view name,
                                                                                    Number& out) {
    auto const* const value = get(name);
    if (value == nullptr) return;
    boost::system::error_code error;
    if constexpr (std::is_floating_point_v<Number>) {
      out = static_cast<Number>(value->to_number<double>(error));
    } else {
      out = value->to_number<Number>(error);
    }
    if (error) fail(name, "is not a number in range");
  }

  void fail(std::string_view name, std::string_view what) {
    if (error_.empty()) error_ = concat(where_, name.empty() ? "" : ".", name, ' ', what);
  }

  /// Reads the object in a field; what is wrong inside is wrong here.
  template <class Read>
  void read_object(std::string_view name, Read&& read_inside) {
    if (auto const* const value = get(name)) read_element(*value, name, read_inside);
  }
  template <class Read>
  void read_element(boost::json::value const& value, std::string_view name, Read&& read_inside) {
    FieldReader inside(value, concat(where_, '.', name));
    read_inside(inside);
    if (error_.empty()) error_ = inside.error();
  }

  /// Later errors speak of `where`.
  void rename(std::string where) { where_ = std::move(where); }

  [[nodiscard]] std::string const& error() const { return error_; }

 private:
  boost::json::object const* object_ = nullptr;
  std::string where_;
  std::string error_;
};

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

template <std::size_t Index = 0>
Optimizer read_optimizer_named(FieldReader& fields, std::string_view name) {
  if constexpr (Index == std::variant_size_v<Optimizer>) {
    fields.fail("name", concat("'", shown(name), "' is no optimizer of this server"));
    return {};
  } else {
    using Rule = std::variant_alternative_t<Index, Optimizer>;
    if (Rule::name != name) return read_optimizer_named<Index + 1>(fields, name);
    Rule rule;
    Rule::fields(rule, [&](char const* field, auto& value) { fields.read(field, value); });
    return rule;
  }
}

inline Optimizer read_optimizer(FieldReader& reader) {
  Optimizer optimizer;
  reader.read_object("optimizer", [&](FieldReader& fields) {
    std::string name;
    fields.read("name", name);
    optimizer = read_optimizer_named(fields, name);
  });
  return optimizer;
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

inline boost::json::object json_of(SparseSpec const& spec) {
  boost::json::object object{{"name", spec.name},
                             {"kind", "sparse"},
                             {"dim", spec.dim},
                             {"optimizer", json_of(spec.optimizer)},
                             {"init", json_of(spec.init)},
                             {"apply", name_of(spec.apply)},
                             {"seed", spec.seed}};
  write_staleness(spec.staleness, object);
  return object;
}

inline boost::json::object json_of(DenseSpec const& spec) {
  boost::json::array parts;
  for (auto const& part : spec.parts) {
    parts.push_back(boost::json::object{{"name", part.name}, {"size", part.size}, {"init", json_of(part.init)}});
  }
  boost::json::object object{{"name", spec.name},
                             {"kind", "dense"},
                             {"parts", std::move(parts)},
                             {"optimizer", json_of(spec.optimizer)},
                             {"apply", name_of(spec.apply)},
                             {"seed", spec.seed}};
  write_staleness(spec.staleness, object);
  return object;
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
  std::string bad;  // a number of the optimizer with which weights would become NaN
  std::visit(
      [&](auto const& it) {
        std::visit(
            [&](auto const& rule) {
              rule.fields(rule, [&](std::string_view field, auto const& value) {
                if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
                  auto const fine = std::isfinite(value) && (field != "epsilon" || value > 0) &&
                                    (!field.starts_with("beta") || (value >= 0 && value < 1)) &&
                                    (field != "initial" || value >= 0);
                  if (!fine && bad.empty()) bad = concat(field, " is ", value);
                }
              });
            },
            it.optimizer);
      },
      spec);
  if (!bad.empty()) return wrong("of its optimizer, ", bad, ", with which weights would become NaN");
  bool const adds =
      std::visit([](auto const& it) { return it.apply != ApplyRule::add || it.optimizer == Optimizer(adding); }, spec);
  if (!adds) return wrong("it adds differences, so its optimizer is sgd with rate -1 and nothing else");
  if (auto const* const sparse = std::get_if<SparseSpec>(&spec)) {
    if (sparse->dim == 0 || sparse->dim > detail::most_dim) {
      return wrong("dim is ", sparse->dim, ", between 1 and ", detail::most_dim, " are allowed");
    }
    if (!detail::finite(sparse->init)) return wrong("a number of its initializer is not finite");
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
    sparse.staleness = detail::read_staleness(reader);
    spec = std::move(sparse);
  } else if (kind == "dense") {
    DenseSpec dense{.name = name};
    reader.read("seed", dense.seed);
    dense.optimizer = detail::read_optimizer(reader);
    dense.apply = detail::read_apply(reader);
    dense.staleness = detail::read_staleness(reader);
    auto const* const parts = reader.get("parts");
    if (parts != nullptr && !parts->is_array()) reader.fail("parts", "is not a list");
    if (parts != nullptr && parts->is_array()) {
      for (auto const& each : parts->get_array()) {
        reader.read_element(each, "parts", [&](detail::FieldReader& fields) {
          DensePart part;
          fields.read("name", part.name);
          fields.read("size", part.size);
          part.init = detail::read_initializer(fields);
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
  for (auto const& [name, value] : mine) {
    auto const* const other = theirs.if_contains(name);
    if (other == nullptr || *other != value) {
      return concat(std::string_view(name.data(), name.size()), " is ", boost::json::serialize(value), " here and ",
                    other == nullptr ? std::string("absent") : boost::json::serialize(*other), " on the server");
    }
  }
  for (auto const& [name, value] : theirs) {
    if (mine.contains(name)) continue;
    return concat(std::string_view(name.data(), name.size()), " is absent here and ", boost::json::serialize(value),
                  " on the server");
  }
  return "they differ";
}

}  // namespace prdist
