// SPDX-License-Identifier: Apache-2.0
// Definitions of checkpoint/manifest.hpp.
#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <concepts>
#include <set>
#include <utility>

#include <prdist/checkpoint/manifest.hpp>
#include <prdist/checkpoint/part_format.hpp>

namespace prdist {

namespace detail {

/// A value of a JSON document and the way to it. Asking for what is not there, or is of another type, throws.
class JsonPlace {
 public:
  JsonPlace(boost::json::value const& value, std::string_view file, std::string path)
      : value_(&value), file_(file), path_(std::move(path)) {}

  [[nodiscard]] JsonPlace operator[](std::string_view name) const {
    auto const* const object = value_->if_object();
    if (object == nullptr) fail("is not an object");
    auto path = path_.empty() ? std::string(name) : concat(path_, '.', name);
    auto const* const found = object->if_contains(name);
    if (found == nullptr) JsonPlace(*value_, file_, std::move(path)).fail("is missing");
    return {*found, file_, std::move(path)};
  }

  /// Whether it is there to be asked for.
  [[nodiscard]] bool has(std::string_view name) const {
    auto const* const object = value_->if_object();
    return object != nullptr && object->contains(name);
  }

  template <std::unsigned_integral Number>
  [[nodiscard]] Number number() const {
    boost::system::error_code error;
    auto const number = value_->to_number<Number>(error);
    if (error || value_->is_double()) fail("is not a whole number in range");
    return number;
  }

  [[nodiscard]] std::string text() const {
    auto const* const text = value_->if_string();
    if (text == nullptr) fail("is not a text");
    return {text->data(), text->size()};
  }

  [[nodiscard]] std::uint64_t hex_number() const {
    auto const digits = text();
    std::uint64_t number = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    if (digits.size() != 16 || error != std::errc{} || end != digits.data() + digits.size()) {
      fail("is not 16 hexadecimal digits");
    }
    return number;
  }

  template <class Read>
  void for_each(Read&& read) const {
    auto const* const array = value_->if_array();
    if (array == nullptr) fail("is not a list");
    std::size_t index = 0;
    for (auto const& each : *array) read(JsonPlace(each, file_, concat(path_, '[', index++, ']')));
  }

  [[nodiscard]] boost::json::value const& value() const noexcept { return *value_; }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(Errc::checkpoint_damaged, file_, ", ", path_.empty() ? "the document" : path_, ' ', what,
                ": restore the file from a copy, or load an older checkpoint");
  }

 private:
  boost::json::value const* value_;
  std::string_view file_;
  std::string path_;
};

/// Names of files are bytes, of which not all are UTF-8.
[[nodiscard]] inline boost::json::value parse_bytes(std::string_view text, boost::system::error_code& error) {
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;
  return boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
}

[[nodiscard]] inline boost::json::value parse_json(std::string_view text, std::string_view file) {
  boost::system::error_code error;
  auto value = parse_bytes(text, error);
  if (error) {
    throw Error(Errc::checkpoint_damaged, file, ", is not JSON, ", error.message(),
                ": restore the file from a copy, or load an older checkpoint");
  }
  return value;
}

inline void indent(std::string& out, boost::json::value const& value, std::size_t depth) {
  auto const line = [&](std::size_t level) { out.append("\n").append(2 * level, ' '); };
  auto const list = [&](auto const& items, char open, char close, auto&& write) {
    out += open;
    bool first = true;
    for (auto const& item : items) {
      if (!std::exchange(first, false)) out += ',';
      line(depth + 1);
      write(item);
    }
    if (!first) line(depth);
    out += close;
  };
  if (auto const* const object = value.if_object()) {
    list(*object, '{', '}', [&](auto const& pair) {
      out += concat(boost::json::serialize(pair.key()), ": ");
      indent(out, pair.value(), depth + 1);
    });
  } else if (auto const* const array = value.if_array()) {
    list(*array, '[', ']', [&](auto const& item) { indent(out, item, depth + 1); });
  } else {
    out += boost::json::serialize(value);
  }
}

/// `owner` is what a part belongs to: server or worker.
inline boost::json::object json_of(PartSummary const& part, char const* owner = "server") {
  boost::json::array tables;
  for (auto const& table : part.tables) {
    tables.push_back(boost::json::object{
        {"table", table.table}, {"rows", table.rows}, {"removed", table.removed}, {"bytes", table.bytes}});
  }
  return {{"name", part.name},
          {owner, part.server},
          {"bytes", part.bytes},
          {"checksum", hex(part.checksum)},
          {"tables", std::move(tables)}};
}

inline PartSummary read_part(JsonPlace const& from, char const* owner = "server",
                             std::string (*name_of_file)(std::uint32_t) = part_name) {
  PartSummary part{.name = from["name"].text(),
                   .server = from[owner].number<std::uint32_t>(),
                   .bytes = from["bytes"].number<std::uint64_t>(),
                   .checksum = from["checksum"].hex_number()};
  // The name leads to a file: it must not lead out of the folder.
  if (auto const name = name_of_file(part.server); part.name != name) from["name"].fail(concat("is not ", name));
  from["tables"].for_each([&](JsonPlace const& table) {
    part.tables.push_back({.table = table["table"].number<TableId>(),
                           .rows = table["rows"].number<std::uint64_t>(),
                           .removed = table["removed"].number<std::uint64_t>(),
                           .bytes = table["bytes"].number<std::uint64_t>()});
  });
  return part;
}

/// Every field that says how far a file is read, for writing and for reading alike.
template <class Place, class Visit>
void place_fields(Place& place, Visit&& visit) {
  visit("name", place.name);
  visit("file_size", place.file_size);
  visit("offset", place.offset);
  visit("line", place.line);
  visit("taken", place.taken);
}

/// Every field of a position that is always there.
template <class Position, class Visit>
void position_fields(Position& position, Visit&& visit) {
  visit("epoch", position.epoch);
  visit("file", position.file);
  place_fields(position, visit);
  visit("rows", position.rows);
  visit("skipped", position.skipped);
  visit("source", position.source);
}

template <class Piece, class Visit>
void piece_fields(Piece& piece, Visit&& visit) {
  visit("epoch", piece.epoch);
  visit("number", piece.number);
  place_fields(piece, visit);
}

inline boost::json::object json_of(DataPosition const& position) {
  boost::json::object out;
  position_fields(position, [&](char const* name, auto const& value) { out[name] = value; });
  if (position.shuffle) out["shuffle"] = *position.shuffle;
  if (position.files) out["files"] = boost::json::array(position.files->begin(), position.files->end());
  if (!position.sizes.empty()) out["sizes"] = boost::json::array(position.sizes.begin(), position.sizes.end());
  if (position.rest) {
    auto& rest = out["rest"].emplace_array();
    for (auto const& piece : *position.rest) {
      auto& each = rest.emplace_back(boost::json::object()).get_object();
      piece_fields(piece, [&](char const* name, auto const& value) { each[name] = value; });
    }
  }
  return out;
}

inline DataPosition read_position(JsonPlace const& from) {
  DataPosition position;
  auto const reads = [](JsonPlace const& place) {
    return [place](char const* name, auto& value) {
      if constexpr (std::same_as<decltype(value), std::string&>) {
        value = place[name].text();
      } else {
        value = place[name].template number<std::uint64_t>();
      }
    };
  };
  position_fields(position, reads(from));
  if (from.has("shuffle")) position.shuffle = from["shuffle"].number<std::uint64_t>();
  if (from.has("files")) {
    position.files.emplace();
    from["files"].for_each([&](JsonPlace const& file) { position.files->push_back(file.text()); });
  }
  if (from.has("sizes")) {
    from["sizes"].for_each([&](JsonPlace const& size) { position.sizes.push_back(size.number<std::uint64_t>()); });
    if (position.files && position.sizes.size() != position.files->size()) {
      from["sizes"].fail(concat("has ", position.sizes.size(), " for ", position.files->size(), " files"));
    }
  }
  if (from.has("rest")) {
    position.rest.emplace();
    from["rest"].for_each([&](JsonPlace const& piece) { piece_fields(position.rest->emplace_back(), reads(piece)); });
  }
  return position;
}

inline boost::json::object json_of(Manifest::Trainer const& trainer) {
  boost::system::error_code error;
  auto program = parse_bytes(trainer.program, error);
  if (error) {
    throw Error(Errc::config_invalid, "what the program of trainer ", trainer.index, " keeps is not JSON, ",
                error.message(), ": give one JSON value, or null");
  }
  boost::json::object out{
      {"trainer", trainer.index}, {"position", json_of(trainer.position)}, {"program", std::move(program)}};
  if (trainer.copy) out["copy"] = json_of(*trainer.copy, "worker");
  return out;
}

inline Manifest::Trainer read_trainer(JsonPlace const& from) {
  Manifest::Trainer trainer{.index = from["trainer"].number<std::uint32_t>(),
                            .position = read_position(from["position"]),
                            .program = boost::json::serialize(from["program"].value())};
  if (from.has("copy")) {
    auto const copy = from["copy"];
    trainer.copy = read_part(copy, "worker", copy_name);
    if (trainer.copy->server != trainer.index) copy["worker"].fail(concat("is not ", trainer.index));
  }
  return trainer;
}

inline Manifest::Table read_table(JsonPlace const& from) {
  auto const place = from["spec"];
  auto spec = spec_from_json(boost::json::serialize(place.value()));
  if (!spec) place.fail(concat("is no declaration, ", spec.error().message()));
  return {.spec = std::move(*spec),
          .rows = from["rows"].number<std::uint64_t>(),
          .bytes = from["bytes"].number<std::uint64_t>()};
}

}  // namespace detail

PRDIST_DECL void add_part(Manifest& manifest, PartSummary part) {
  for (auto const& counted : part.tables) {
    auto const table = std::ranges::find(manifest.tables, counted.table,
                                         [](auto const& each) { return table_id(name_of(each.spec)); });
    if (table == manifest.tables.end()) {
      throw Error(Errc::table_unknown, "server ", part.server, ", ", part.name, " has rows of table ", counted.table,
                  ", which the checkpoint does not declare: declare every table before saving");
    }
    table->rows += counted.rows;
    table->bytes += counted.bytes;
  }
  manifest.parts.push_back(std::move(part));
}

PRDIST_DECL std::string to_json(Manifest::Trainer const& trainer) {
  return boost::json::serialize(detail::json_of(trainer));
}

PRDIST_DECL Manifest::Trainer trainer_from_json(std::string_view text, std::string_view from) {
  auto const value = detail::parse_json(text, from);
  return detail::read_trainer(detail::JsonPlace(value, from, {}));
}

PRDIST_DECL std::string to_json(PartSummary const& part) {
  return boost::json::serialize(detail::json_of(part));
}

PRDIST_DECL PartSummary part_from_json(std::string_view text, std::string_view from) {
  auto const value = detail::parse_json(text, from);
  return detail::read_part(detail::JsonPlace(value, from, {}));
}

PRDIST_DECL std::string to_json(Manifest const& manifest) {
  boost::json::object out{
      {"format", manifest_format},   {"prdist", manifest.release}, {"created", manifest.created},
      {"pass", manifest.pass},       {"step", manifest.step},      {"strategy", manifest.strategy},
      {"servers", manifest.servers}, {"shards", manifest.shards},  {"kind", manifest.base ? "changed" : "full"}};
  if (manifest.base) out["base"] = {{"pass", manifest.base->pass}, {"id", manifest.base->id}};
  auto& tables = out["tables"].emplace_array();
  for (auto const& table : manifest.tables) {
    tables.push_back(boost::json::object{
        {"spec", boost::json::parse(to_json(table.spec))}, {"rows", table.rows}, {"bytes", table.bytes}});
  }
  auto& parts = out["parts"].emplace_array();
  for (auto const& part : manifest.parts) parts.push_back(detail::json_of(part));
  auto& trainers = out["trainers"].emplace_array();
  for (auto const& trainer : manifest.trainers) trainers.push_back(detail::json_of(trainer));
  std::string text;
  detail::indent(text, out, 0);
  return text + '\n';
}

PRDIST_DECL Manifest manifest_from_json(std::string_view text, std::string_view file) {
  auto const document = detail::parse_json(text, file);
  detail::JsonPlace const root(document, file, {});
  // First: a later format may have other fields.
  if (auto const format = root["format"].number<std::uint32_t>(); format == 0 || format > manifest_format) {
    throw Error(Errc::checkpoint_version, file, ", was written in format ", format, ", this release reads up to ",
                manifest_format, ": use the release that wrote it, or a later one");
  }
  Manifest manifest{.release = root["prdist"].text(),
                    .created = root["created"].text(),
                    .pass = root["pass"].number<std::uint64_t>(),
                    .step = root["step"].number<std::uint64_t>(),
                    .strategy = root["strategy"].text(),
                    .servers = root["servers"].number<std::uint32_t>(),
                    .shards = root["shards"].number<std::uint32_t>()};
  if (manifest.shards != shard_count) {
    root["shards"].fail(concat("is ", manifest.shards, ", and this release places keys on ", shard_count));
  }
  if (auto const kind = root["kind"].text(); kind == "changed") {
    auto const base = root["base"];
    manifest.base = CheckpointBase{base["pass"].number<std::uint64_t>(), base["id"].text()};
  } else if (kind != "full") {
    root["kind"].fail("is neither full nor changed");
  }
  root["tables"].for_each([&](auto const& table) { manifest.tables.push_back(detail::read_table(table)); });
  std::set<std::uint32_t> seen;
  root["parts"].for_each([&](auto const& part) {
    manifest.parts.push_back(detail::read_part(part));
    if (!seen.insert(manifest.parts.back().server).second) part["server"].fail("stands in two parts");
  });
  root["trainers"].for_each([&](auto const& trainer) { manifest.trainers.push_back(detail::read_trainer(trainer)); });
  return manifest;
}

}  // namespace prdist
