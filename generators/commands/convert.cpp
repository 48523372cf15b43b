// SPDX-License-Identifier: Apache-2.0
// convert: any dialect, written in the current form. Defaults are not written, so that the file stays as short as the
// old one; secrets are left out.
#include <nlohmann/json.hpp>
#include <prdist/core/text.hpp>

#include "../keys.hpp"
#include "../quantity.hpp"
#include "../quoting.hpp"
#include "commands.hpp"

namespace prdist::gen {

namespace {

using Ordered = nlohmann::ordered_json;

/// Words that no reader of YAML takes for something else go without quotes.
std::string scalar(std::string const& text) {
  bool plain = !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  for (auto const c : text) {
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                      c == '_' || c == '.' || c == '/');
  }
  std::string lower;
  for (auto const c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (auto const* const word : {"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
    plain = plain && lower != word;
  bool const binary = text.size() > 2 && text.back() == 'i' && parse_quantity(text) && text[0] >= '0' && text[0] <= '9';
  return plain || binary ? text : yaml_quoted(text);
}

void write(Ordered const& tree, std::size_t indent, std::string& out) {
  std::string const blanks(indent, ' ');
  for (auto const& [key, value] : tree.items()) {
    out += concat(blanks, scalar(key), ":");
    if (value.is_object() && !value.empty()) {
      out += '\n';
      write(value, indent + 2, out);
    } else if (value.is_array() && !value.empty() && value.front().is_object()) {
      out += '\n';
      for (auto const& item : value) {
        std::string lines;
        write(item, indent + 2, lines);
        if (lines.empty()) continue;
        lines.replace(indent, 2, "- ");
        out += lines;
      }
    } else if (value.is_array()) {
      std::string list;
      for (auto const& item : value) list += concat(list.empty() ? "" : ", ", scalar(item.get<std::string>()));
      out += concat(" [", list, "]\n");
    } else if (value.is_object()) {
      out += " {}\n";
    } else {
      out += concat(' ', value.is_string() ? scalar(value.get<std::string>()) : value.dump(), '\n');
    }
  }
}

Ordered map_value(TextMap const& map) {
  auto out = Ordered::object();
  for (auto const& [name, value] : map.items) out[name.value] = value.value;
  return out;
}

Ordered value_of(Key const& key, JobSpec const& job) {
  if (auto const* const text = std::get_if<Text JobSpec::*>(&key.member)) {
    auto const& value = (job.**text).value;
    return key.rule == Rule::flag ? Ordered(value == "true") : Ordered(value);
  }
  if (auto const* const number = std::get_if<Number JobSpec::*>(&key.member)) return (job.**number).value;
  if (auto const* const map = std::get_if<TextMap JobSpec::*>(&key.member)) return map_value(job.**map);
  auto list = Ordered::array();
  if (auto const* const texts = std::get_if<TextList JobSpec::*>(&key.member)) {
    for (auto const& item : (job.**texts).items) list.push_back(item.value);
  } else {
    for (auto const& record : (job.*std::get<Records JobSpec::*>(key.member)).items) list.push_back(map_value(record));
  }
  return list;
}

}  // namespace

int convert_command(Context& context) {
  auto const jobs = load_all(context);
  if (context.diagnostics.failed()) return exit_invalid;
  if (jobs.size() != 1) {
    context.diagnostics.error({}, {}, "convert takes one file", "call it once for each");
    return exit_usage;
  }
  auto const& job = jobs.front().raw;
  auto engine = Ordered::object();
  bool secrets = false;
  for (auto const& key : keys()) {
    bool const given = std::visit([&](auto member) { return (job.*member).given; }, key.member);
    if (!given) continue;
    if (key.rule == Rule::secret) {
      secrets = true;
      continue;
    }
    Ordered* place = &engine;
    std::string_view path = key.path;
    for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      place = &(*place)[std::string(path.substr(0, dot))];
      path.remove_prefix(dot + 1);
    }
    (*place)[std::string(path)] = value_of(key, job);
  }
  if (secrets) context.out += "# Keys and passwords are not written: set PADDLECLOUD_AK, PADDLECLOUD_SK and FS_UGI.\n";
  context.out += "engine:\n";
  write(engine, 2, context.out);
  return exit_ok;
}

}  // namespace prdist::gen
