// SPDX-License-Identifier: Apache-2.0
#include "yaml_syntax.hpp"

#include <algorithm>
#include <cctype>
#include <prdist/core/text.hpp>
#include <string_view>

namespace prdist::gen {

namespace {

/// The nearest line above that looks like `key:value` without the blank, which makes it a word and no pair; 0 if none.
std::size_t line_without_blank(Source const& source, std::size_t line) {
  for (auto i = line; i > 0 && i + 2 > line; --i) {
    auto text = source.line(i);
    text = text.substr(0, text.find(" #"));
    auto const begin = text.find_first_not_of(" -");
    auto const colon = text.find(':');
    if (begin == std::string_view::npos || colon == std::string_view::npos || colon + 1 >= text.size()) continue;
    bool const word = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                  text.begin() + static_cast<std::ptrdiff_t>(colon),
                                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (word && colon > begin && text[colon + 1] != ' ' && text[colon + 1] != '/' &&
        text.find(": ") == std::string_view::npos) {
      return i;
    }
  }
  return 0;
}

/// yaml-cpp names what it wanted; people need what to do.
std::string syntax_help(std::string const& message, std::string_view line, std::size_t column) {
  if (column > 1 && column <= line.size() && (line[column - 2] == '"' || line[column - 2] == '\'')) {
    return "something stands behind the closing quote: put the whole value into quotes, and double those inside it";
  }
  if (line.find('\t') != std::string_view::npos) return "a tab cannot indent in YAML: write spaces";
  if (message.find("end of sequence flow") != std::string::npos) return "close the list with ']'";
  if (message.find("end of map flow") != std::string::npos) return "close the map with '}'";
  if (message.find("end of map") != std::string::npos || message.find("illegal map value") != std::string::npos) {
    return "look at the indentation of this line and the one above, and for a ': ' inside a value that is not quoted";
  }
  if (message.find("End of file") != std::string::npos || message.find("EOF") != std::string::npos) {
    return "a quote is opened and never closed";
  }
  return "quote the value if it has characters that mean something in YAML: : # { } [ ] & * ! | > % @";
}

}  // namespace

void report_syntax(SourcePtr const& source, std::size_t line, std::size_t column, std::string message,
                   Where const& bracket, Diagnostics& diagnostics) {
  auto const help = syntax_help(message, source->line(line), column);
  bool const map = message == "end of map not found" || message == "illegal map value";
  if (auto const near = map ? line_without_blank(*source, line) : 0; near != 0) {
    diagnostics.error("PR001", {source, near, source->line(near).find(':') + 1, 1, {}},
                      "this is not YAML: no blank stands behind the colon", "write 'key: value'");
    return;
  }
  if (message == "end of map not found") message = "this line does not fit below the one above";
  // Behind the colon stands what the file calls it, and a password may begin with '*'.
  if (message.starts_with("the referenced anchor")) message = message.substr(0, message.find(':'));
  Where where{source, line, column, 1, {}};
  // The end of the file is where it was noticed; the bracket is what has to be looked at.
  if (message.ends_with("flow not found") && bracket.line != 0) where = bracket;
  diagnostics.error("PR001", where, concat("this is not YAML: ", message), help);
}

}  // namespace prdist::gen
