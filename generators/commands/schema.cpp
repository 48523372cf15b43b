// SPDX-License-Identifier: Apache-2.0
// schema and init: the table of keys as a JSON Schema for editors, and as a commented file to begin with.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <prdist/core/text.hpp>

#include "../dialects/aliases.hpp"
#include "../keys.hpp"
#include "commands.hpp"

namespace prdist::gen {

namespace {

using Ordered = nlohmann::ordered_json;

std::string any_case(std::vector<std::string> names) {
  names.emplace_back("kubernetes");
  std::string pattern;
  for (auto const& name : names) {
    pattern += pattern.empty() ? "^(" : "|";
    for (auto const c : name) {
      auto const upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      pattern += upper == c ? std::string(1, c) : concat('[', c, upper, ']');
    }
  }
  return pattern + ")$";
}

Ordered schema_of(Key const& key) {
  auto description = key.targets.empty() ? std::string(key.about) : concat(key.about, " (", key.targets, ")");
  if (!key.standard.empty() && !key.plain_standard()) description += concat("; by default ", key.standard);
  Ordered out = {{"description", description}};
  auto const scalar_list = Ordered{{"type", "array"}, {"items", {{"type", {"string", "number", "boolean"}}}}};
  switch (key.rule) {
    case Rule::choice:
      out["enum"] = words(key.choices);
      if (key.path == "backend") {
        // Names of clusters are read in any case.
        out.erase("enum");
        out["type"] = "string";
        out["pattern"] = any_case(words(key.choices));
      }
      break;
    case Rule::number: out.update({{"type", "integer"}, {"minimum", key.low}, {"maximum", key.high}}); break;
    case Rule::flag: out["type"] = {"boolean", "integer", "string"}; break;
    case Rule::list: out.update(scalar_list); break;
    case Rule::map:
      out.update({{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean", "null"}}}}});
      break;
    case Rule::records: {
      auto properties = Ordered::object();
      for (auto const& word : words(key.choices)) properties[word] = {{"type", {"string", "boolean", "number"}}};
      out.update({{"type", "array"},
                  {"items", {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}}});
      break;
    }
    case Rule::quantity:
      out["type"] = {"string", "number"};
      out["pattern"] = "^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";
      break;
    default: out["type"] = {"string", "number"}; break;
  }
  if (std::int64_t number = 0; key.rule == Rule::number && parse_number(key.standard, number)) {
    out["default"] = number;
  } else if (key.rule == Rule::flag && key.plain_standard()) {
    out["default"] = key.standard == "true";
  } else if (key.rule != Rule::number && key.plain_standard()) {
    out["default"] = key.standard;
  }
  return out;
}

void insert(Ordered& object, std::string_view path, Ordered value) {
  auto const dot = path.find('.');
  auto& properties = object["properties"];
  if (dot == std::string_view::npos) {
    properties[std::string(path)] = std::move(value);
    return;
  }
  auto& below = properties[std::string(path.substr(0, dot))];
  if (below.is_null())
    below = {{"type", {"object", "null"}}, {"properties", Ordered::object()}, {"additionalProperties", false}};
  insert(below, path.substr(dot + 1), std::move(value));
}

Ordered form(std::span<Alias const> aliases) {
  Ordered object = {{"type", "object"}, {"properties", Ordered::object()}, {"additionalProperties", false}};
  for (auto const& key : keys()) insert(object, key.path, schema_of(key));
  for (auto const& alias : aliases) {
    auto value = schema_of(*find_key(alias.to));
    value["description"] = concat("the same as ", alias.to);
    if (alias.old_spelling) value["deprecated"] = true;
    insert(object, alias.from, std::move(value));
  }
  return object;
}

/// What `init` writes for the keys without which nothing works; the rest appears as comments.
std::string sample(std::string_view path, std::string const& target) {
  if (path == "backend") return target;
  if (path == "job_name") return "ctr-dnn";
  if (path == "command") return "[./train, --epochs, \"3\"]";
  if (path == "submit.server_num" || path == "submit.trainer_num") return target == "paddlecloud" ? "" : "2";
  if (target == "mpi") return path == "submit.hosts" ? "[node1, node2]" : "";
  if (path == "submit.docker_image") return "hub.example.com/team/ctr:1.0";
  if (path == "submit.memory") return "4Gi";
  if (path == "submit.storage") return "10Gi";
  if (target == "paddlecloud") {
    if (path == "submit.cluster_type") return "mpi";
    if (path == "submit.nodes") return "2";
    if (path == "submit.files") return "\"./*.py ./*.yaml\"";
    if (path == "fs.name") return "\"afs://host:9902\"";
    if (path == "fs.train_data") return "/user/me/train";
    if (path == "fs.output") return "/user/me/output";
  }
  return {};
}

/// What may stand behind a key that is only a comment: its default, or the form of a value.
std::string form_of_value(Key const& key) {
  if (key.plain_standard()) return std::string(key.standard);
  switch (key.rule) {
    case Rule::choice: return words(key.choices).front();
    case Rule::flag: return "true";
    case Rule::number: return concat(std::max<std::int64_t>(key.low, 1));
    case Rule::quantity: return key.path.find("cpu") == std::string_view::npos ? "4Gi" : "2";
    case Rule::list: return "[FIRST, SECOND]";
    case Rule::map: return "{NAME: VALUE}";
    case Rule::path: return "/PATH";
    case Rule::records: {
      std::string fields;
      for (auto const& word : words(key.choices)) fields += concat(fields.empty() ? "" : ", ", word, ": ...");
      return concat("[{", fields, "}]");
    }
    default: return "TEXT";
  }
}

}  // namespace

int schema_command(Context& context) {
  auto engine = form(engine_aliases());
  Ordered const current = {{"type", "object"},
                           {"properties", {{"engine", engine}}},
                           {"required", {"engine"}},
                           {"additionalProperties", false}};
  auto flat = form(flat_aliases());
  flat["required"] = {"backend"};
  Ordered const schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                          {"title", "backend.yaml"},
                          {"description", "A distributed training job, as prgen reads it"},
                          {"anyOf", {current, flat}}};
  context.out = schema.dump(2) + '\n';
  return exit_ok;
}

int init_command(Context& context) {
  auto const& given = context.invocation.options.backend;
  auto const target = given.empty() ? std::string("k8s") : given;
  std::string out = concat(
      "# A job for ", target, ". prgen check FILE looks at it, prgen FILE renders it.\n",
      "# yaml-language-server: $schema=backend.schema.json  (prgen schema > backend.schema.json)\n", "engine:\n");
  std::vector<std::string> open;
  std::vector<Key const*> ordered;
  for (auto const& key : keys()) {
    if (key.is_for(target) && key.rule != Rule::secret) ordered.push_back(&key);
  }
  // Keys of one level have to stand together, which the table does not promise.
  std::stable_sort(ordered.begin(), ordered.end(), [](Key const* a, Key const* b) {
    auto const group = [](std::string_view path) {
      auto const dot = path.rfind('.');
      return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
    };
    return group(a->path) < group(b->path);
  });
  for (auto const* const key : ordered) {
    std::vector<std::string> parts;
    std::string_view rest = key->path;
    for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      parts.emplace_back(rest.substr(0, dot));
      rest.remove_prefix(dot + 1);
    }
    auto const value = sample(key->path, target);
    // A level of comments alone is written as a comment itself.
    bool const live_level =
        parts.empty() || std::any_of(ordered.begin(), ordered.end(), [&](Key const* other) {
          return other->path.starts_with(parts.front() + ".") && !sample(other->path, target).empty();
        });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i < open.size() && open[i] == parts[i]) continue;
      bool const live = live_level && i == 0;
      out += concat(live ? "" : "# ", std::string(2 * (i + 1), ' '), parts[i], ":\n");
    }
    open = parts;
    std::string const blanks(2 * (parts.size() + 1), ' ');
    out += value.empty() ? concat("# ", blanks, rest, ": ", form_of_value(*key), "  # ", key->about)
                         : concat(blanks, rest, ": ", value, "  # ", key->about);
    if (key->rule == Rule::choice) out += concat(": ", key->choices);
    out += '\n';
  }
  context.out = out;
  return exit_ok;
}

}  // namespace prdist::gen
