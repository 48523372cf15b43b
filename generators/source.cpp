// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"

#include <algorithm>
#include <prdist/core/escaped.hpp>
#include <prdist/core/text.hpp>

namespace prdist::gen {

std::string_view Source::line(std::size_t number) const {
  std::string_view rest = text;
  for (std::size_t i = 1; i < number; ++i) {
    auto const end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  auto line = rest.substr(0, rest.find('\n'));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::size_t first_bad_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto const length = utf8_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string snippet(Where const& where) {
  if (!where.source || where.line == 0) return {};
  auto const line = where.source->line(where.line);
  if (line.empty()) return {};
  constexpr std::size_t longest = 200;  // of a line that is shown; a caret behind it helps nobody
  auto const start = std::min(where.column == 0 ? 0 : where.column - 1, line.size());
  std::string shown;
  for (std::size_t i = 0; i < std::min(longest, line.size());) {
    auto const length = std::max<std::size_t>(utf8_length(line, i), 1);
    // Nothing of the file steers the terminal. What stands for it is as wide as the line below holds it to be.
    shown += line[i] == '\t' || shows_as_itself(line, i, utf8_length(line, i)) ? line.substr(i, length)
             : length >= 3                                                     ? "??"
                                                                               : "?";
    i += length;
  }
  if (start >= longest) return concat("  ", shown, "\n");
  std::string under;
  for (std::size_t i = 0; i < start;) {
    auto const length = std::max<std::size_t>(utf8_length(line, i), 1);
    // Chinese, Japanese and Korean characters take two columns of a terminal; those all have three bytes or more.
    under += line[i] == '\t' ? "\t" : length >= 3 ? "  " : " ";
    i += length;
  }
  auto const end = std::min({start + std::max<std::size_t>(where.length, 1), line.size(), longest});
  under += '^';
  for (std::size_t i = start; i < end;) {
    auto const length = std::max<std::size_t>(utf8_length(line, i), 1);
    if (i != start) under += length >= 3 ? "~~" : "~";
    i += length;
  }
  return concat("  ", shown, "\n  ", under, "\n");
}

}  // namespace prdist::gen
