// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <algorithm>
#include <cctype>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>

namespace prdist::gen {

namespace {

std::string lower(std::string_view text) {
  std::string out;
  for (auto const c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string listed(std::vector<std::string> const& list) {
  std::string out;
  for (auto const& word : list) out += concat(out.empty() ? "" : ", ", word);
  return out;
}

bool scalar(Node const& value, Where const& where, Diagnostics& diagnostics) {
  if (value.kind == Node::Kind::scalar) return true;
  diagnostics.error("PR007", where, concat("one value is expected here, not ", kind_name(value)),
                    "write it behind the colon, on the same line");
  return false;
}

Text text_of(Node const& value, Where where) {
  return {value.text, true, std::move(where)};
}

void read_choice(Key const& key, Node const& value, Where const& where, Text& out, Diagnostics& diagnostics) {
  if (!scalar(value, where, diagnostics)) return;
  auto const choices = words(key.choices);
  auto const wanted = lower(value.text);
  for (auto const& choice : choices) {
    if (lower(choice) == wanted) {
      out = {choice, true, where};
      return;
    }
  }
  if (key.path == "backend" && wanted == "kubernetes") {
    out = {"k8s", true, where};
    return;
  }
  auto const meant = did_you_mean(value.text, choices);
  // prrun takes a file for ssh as one for mpi; there is nothing to render for it.
  auto const rest = key.path == "backend" ? "; with prrun -b also ssh, which has the keys of mpi" : "";
  diagnostics.error("PR009", where, concat("'", value.text, "' is not known here"),
                    meant.empty() ? concat("one of: ", listed(choices), rest) : concat("did you mean '", meant, "'?"));
}

void read_flag(Node const& value, Where const& where, Text& out, Diagnostics& diagnostics) {
  if (!scalar(value, where, diagnostics)) return;
  auto const wanted = lower(value.text);
  if (wanted == "true" || wanted == "yes" || wanted == "on" || wanted == "1") {
    out = {"true", true, where};
  } else if (wanted == "false" || wanted == "no" || wanted == "off" || wanted == "0") {
    out = {"false", true, where};
  } else {
    diagnostics.error("PR009", where, concat("'", value.text, "' is neither true nor false"), "one of: true, false");
  }
}

void read_number(Key const& key, Node const& value, Where const& where, Number& out, Diagnostics& diagnostics) {
  if (!scalar(value, where, diagnostics)) return;
  std::int64_t number = 0;
  // 017 is fifteen to some readers of YAML and seventeen to others, so it is neither here.
  bool const octal = value.text.size() > 1 && value.text.front() == '0';
  if (octal || !parse_number(value.text, number)) {
    diagnostics.error("PR007", where, concat("'", value.text, "' is not a whole number"),
                      concat("a number from ", key.low, " to ", key.high, " is expected"));
  } else if (number < key.low || number > key.high) {
    diagnostics.error("PR010", where, concat(number, " is out of range"),
                      concat("a number from ", key.low, " to ", key.high, " is expected"));
  } else {
    out = {number, true, where};
  }
}

void read_list(Node const& value, Where const& where, TextList& out, Diagnostics& diagnostics) {
  if (value.kind == Node::Kind::scalar) {
    diagnostics.error(
        "PR007", where, "a list is expected here, not one value",
        concat("write each word apart: [first, second]; one alone is [\"", value.text.substr(0, 40), "\"]"));
    return;
  }
  if (value.kind != Node::Kind::sequence) {
    diagnostics.error("PR007", where, "a list is expected here, not a map", "write [first, second]");
    return;
  }
  out.given = true;
  out.where = where;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    auto const& item = value.items[i];
    auto const place = at(item.where, concat(where.path, '[', i, ']'));
    if (scalar(item, place, diagnostics)) out.items.push_back(text_of(item, place));
  }
}

void read_map(Node const& value, Where const& where, TextMap& out, Diagnostics& diagnostics) {
  if (value.kind != Node::Kind::map) {
    diagnostics.error("PR007", where, concat("a map is expected here, not ", kind_name(value)),
                      "write name: value lines below");
    return;
  }
  out.given = true;
  out.where = where;
  for (auto const& [name, item] : value.entries) {
    auto const path = concat(where.path, '.', name.text);
    // As manifests write an emptyDir without a size.
    bool const no_size = name.text == "empty_dir" && item.kind == Node::Kind::map && item.entries.empty();
    if (item.kind == Node::Kind::null || no_size) {
      out.items.emplace_back(text_of(name, at(name.where, path)), Text{"", true, at(name.where, path)});
    } else if (scalar(item, at(item.where, path), diagnostics)) {
      out.items.emplace_back(text_of(name, at(name.where, path)), text_of(item, at(item.where, path)));
    }
  }
}

void read_records(Key const& key, Node const& value, Where const& where, Records& out, Diagnostics& diagnostics) {
  auto const allowed = words(key.choices);
  if (value.kind != Node::Kind::sequence) {
    diagnostics.error("PR007", where, concat("a list is expected here, not ", kind_name(value)),
                      concat("begin each with '- ', and write of it: ", listed(allowed)));
    return;
  }
  out.given = true;
  out.where = where;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    TextMap record;
    read_map(value.items[i], at(value.items[i].where, concat(where.path, '[', i, ']')), record, diagnostics);
    for (auto const& [name, item] : record.items) {
      if (std::find(allowed.begin(), allowed.end(), name.value) != allowed.end()) continue;
      auto const meant = did_you_mean(name.value, allowed);
      diagnostics.error(
          "PR006", name.where, "unknown key",
          meant.empty() ? concat("known here: ", listed(allowed)) : concat("did you mean '", meant, "'?"));
    }
    if (record.given) out.items.push_back(std::move(record));
  }
}

}  // namespace

void read_value(Key const& key, Node const& value, Where const& where, JobSpec& job, Diagnostics& diagnostics) {
  if (auto const* const text = std::get_if<Text JobSpec::*>(&key.member)) {
    if (key.rule == Rule::choice) {
      read_choice(key, value, where, job.**text, diagnostics);
    } else if (key.rule == Rule::flag) {
      read_flag(value, where, job.**text, diagnostics);
    } else if (scalar(value, where, diagnostics)) {
      job.** text = text_of(value, where);
    }
  } else if (auto const* const number = std::get_if<Number JobSpec::*>(&key.member)) {
    read_number(key, value, where, job.**number, diagnostics);
  } else if (auto const* const list = std::get_if<TextList JobSpec::*>(&key.member)) {
    read_list(value, where, job.**list, diagnostics);
  } else if (auto const* const map = std::get_if<TextMap JobSpec::*>(&key.member)) {
    read_map(value, where, job.**map, diagnostics);
  } else {
    read_records(key, value, where, job.*std::get<Records JobSpec::*>(key.member), diagnostics);
  }
}

}  // namespace prdist::gen
