// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"

#include <algorithm>
#include <prdist/core/text.hpp>

namespace prdist::gen {

namespace {

/// Length of the UTF-8 sequence that starts at `i`, 0 when it is not one. Overlong forms, surrogates and what lies
/// beyond U+10FFFF are refused: parsers disagree about them.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  auto const byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  auto const tail = [&](std::size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
  auto const first = byte(i);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(i + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(i + 1) || !tail(i + 2)) return 0;
    if (first == 0xE0 && byte(i + 1) < 0xA0) return 0;
    if (first == 0xED && byte(i + 1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(i + 1) || !tail(i + 2) || !tail(i + 3)) return 0;
    if (first == 0xF0 && byte(i + 1) < 0x90) return 0;
    if (first == 0xF4 && byte(i + 1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

/// Whether the sequence of `length` bytes at `i` is shown by a terminal as itself.
bool shows(std::string_view text, std::size_t i, std::size_t length) {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(text[i + k])); };
  if (length == 0) return false;
  if (length == 1) return byte(0) >= 0x20 && byte(0) != 0x7F;
  if (length == 2) return byte(0) != 0xC2 || byte(1) >= 0xA0;  // U+0080 to U+009F are controls, too
  if (length > 3) return true;
  auto const code = (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
  return !(code >= 0x2028 && code <= 0x202E) && !(code >= 0x2066 && code <= 0x2069) && code != 0xFEFF;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    auto const length = sequence_length(text, i);
    if (shows(text, i, length)) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    for (auto const end = i + std::max<std::size_t>(length, 1); i < end; ++i) {
      auto const byte = static_cast<unsigned char>(text[i]);
      if (byte == '\n') {
        out += "\\n";
      } else if (byte == '\r') {
        out += "\\r";
      } else if (byte == '\t') {
        out += "\\t";
      } else {
        out += concat("\\x", digits[byte >> 4U], digits[byte & 0xFU]);
      }
    }
  }
  return out;
}

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
    auto const length = sequence_length(text, i);
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
    auto const length = std::max<std::size_t>(sequence_length(line, i), 1);
    // Nothing of the file steers the terminal. What stands for it is as wide as the line below holds it to be.
    shown += line[i] == '\t' || shows(line, i, sequence_length(line, i)) ? line.substr(i, length)
             : length >= 3                                               ? "??"
                                                                         : "?";
    i += length;
  }
  if (start >= longest) return concat("  ", shown, "\n");
  std::string under;
  for (std::size_t i = 0; i < start;) {
    auto const length = std::max<std::size_t>(sequence_length(line, i), 1);
    // Chinese, Japanese and Korean characters take two columns of a terminal; those all have three bytes or more.
    under += line[i] == '\t' ? "\t" : length >= 3 ? "  " : " ";
    i += length;
  }
  auto const end = std::min({start + std::max<std::size_t>(where.length, 1), line.size(), longest});
  under += '^';
  for (std::size_t i = start; i < end;) {
    auto const length = std::max<std::size_t>(sequence_length(line, i), 1);
    if (i != start) under += length >= 3 ? "~~" : "~";
    i += length;
  }
  return concat("  ", shown, "\n  ", under, "\n");
}

}  // namespace prdist::gen
