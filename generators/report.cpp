// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <prdist/core/escaped.hpp>
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

#include "catalogue.hpp"
#include "secrecy.hpp"

namespace prdist::gen {

namespace {

using Json = nlohmann::ordered_json;

std::string place(Where const& where) {
  if (!where.source) return "prgen";
  if (where.line == 0) return escaped(where.source->name);
  return concat(escaped(where.source->name), ':', where.line, ':', where.column);
}

std::string sentence(Diagnostic const& d) {
  return d.where.path.empty() ? d.message : concat(d.where.path, ": ", d.message);
}

std::string text(Diagnostics const& diagnostics, ReportOptions const& options) {
  auto const paint = [&](std::string_view colour, std::string_view what) {
    return options.colour ? concat("\033[", colour, "m", what, "\033[0m") : std::string(what);
  };
  std::string out;
  std::size_t errors = 0;
  for (auto const& d : diagnostics.sorted()) {
    if (d.severity == Severity::error && options.max_errors != 0 && ++errors > options.max_errors) continue;
    auto const* const colour = d.severity == Severity::error     ? "1;31"
                               : d.severity == Severity::warning ? "1;35"
                                                                 : "1;36";
    out += concat(paint("1", concat(place(d.where), ':')), ' ', paint(colour, concat(name_of(d.severity), ':')), ' ',
                  escaped(sentence(d)));
    if (!d.code.empty()) out += concat(" [", d.code, ']');
    out += '\n';
    if (d.code != "PR017" && !secret_line(d.where)) out += snippet(d.where);  // logs are kept
    if (!d.help.empty()) out += concat("  ", paint("1;32", "help:"), ' ', escaped(d.help), '\n');
  }
  if (options.max_errors != 0 && errors > options.max_errors) {
    out += concat("prgen: note: ", errors - options.max_errors, " more errors; --max-errors=0 shows all\n");
  }
  return out;
}

/// Bytes of messages come from checked UTF-8 or from argv; a bad byte there must not throw.
std::string dump(Json const& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string json(Diagnostics const& diagnostics) {
  auto list = Json::array();
  for (auto const& d : diagnostics.sorted()) {
    Json item = {{"severity", name_of(d.severity)}, {"code", d.code}};
    item["file"] = d.where.source ? Json(d.where.source->name) : Json();
    item["line"] = d.where.line;
    item["column"] = d.where.column;
    item["length"] = d.where.length;
    item["path"] = d.where.path;
    item["message"] = d.message;
    item["help"] = d.help;
    list.push_back(std::move(item));
  }
  return dump({{"diagnostics", list}});
}

std::string github(Diagnostics const& diagnostics) {
  auto const escape = [](std::string_view what, bool property) {
    std::string out;
    for (auto const c : what) {
      if (c == '%')
        out += "%25";
      else if (c == '\r')
        out += "%0D";
      else if (c == '\n')
        out += "%0A";
      else if (property && c == ':')
        out += "%3A";
      else if (property && c == ',')
        out += "%2C";
      else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
        out += escaped(std::string_view(&c, 1));
      else
        out += c;
    }
    return out;
  };
  std::string out;
  for (auto const& d : diagnostics.sorted()) {
    out += concat("::", d.severity == Severity::note ? "notice" : name_of(d.severity));
    std::string properties;
    if (d.where.source) properties = concat("file=", escape(d.where.source->name, true));
    if (d.where.line != 0) properties += concat(",line=", d.where.line, ",col=", d.where.column);
    if (!d.code.empty()) properties += concat(properties.empty() ? "" : ",", "title=", d.code);
    if (!properties.empty()) out += concat(' ', properties);
    out += concat("::", escape(d.help.empty() ? sentence(d) : concat(sentence(d), "\nhelp: ", d.help), false), '\n');
  }
  return out;
}

std::string sarif(Diagnostics const& diagnostics) {
  auto results = Json::array();
  auto rules = Json::array();
  std::map<std::string, std::size_t> used;
  for (auto const& d : diagnostics.sorted()) {
    Json result = Json::object();
    if (!d.code.empty()) {
      auto const [at, fresh] = used.emplace(d.code, used.size());
      if (fresh) {
        Json rule = {{"id", d.code}};
        if (auto const* const entry = find_code(d.code)) rule["shortDescription"] = {{"text", entry->title}};
        rules.push_back(std::move(rule));
      }
      result["ruleId"] = d.code;
      result["ruleIndex"] = at->second;
    }
    result["level"] = name_of(d.severity);
    result["message"] = {{"text", d.help.empty() ? sentence(d) : concat(sentence(d), ". ", d.help)}};
    if (d.where.source) {
      Json physical = {{"artifactLocation", {{"uri", d.where.source->name}}}};
      if (d.where.line != 0) physical["region"] = {{"startLine", d.where.line}, {"startColumn", d.where.column}};
      result["locations"] = Json::array({{{"physicalLocation", physical}}});
    }
    results.push_back(std::move(result));
  }
  Json const driver = {{"name", "prgen"}, {"version", version}, {"rules", rules}};
  Json const run = {{"tool", {{"driver", driver}}}, {"results", results}};
  return dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", {run}}});
}

}  // namespace

std::string report(Diagnostics const& diagnostics, ReportOptions const& options) {
  switch (options.format) {
    case ReportFormat::text: return text(diagnostics, options);
    case ReportFormat::json: return json(diagnostics);
    case ReportFormat::github: return github(diagnostics);
    case ReportFormat::sarif: return sarif(diagnostics);
  }
  return {};
}

}  // namespace prdist::gen
