// SPDX-License-Identifier: Apache-2.0
#include "quoting.hpp"

#include <algorithm>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "names.hpp"
#include "source.hpp"

namespace prdist::gen {

namespace {

void need_text(std::string_view text) {
  if (first_bad_utf8(text) != std::string_view::npos) {
    throw Error(Errc::config_invalid, "a value of ", text.size(), " bytes is not UTF-8 text without NUL: correct it");
  }
}

void hex(std::string& out, std::string_view prefix, unsigned code, int digits) {
  out += prefix;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += "0123456789ABCDEF"[(code >> shift) & 0xFU];
}

bool control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  need_text(text);
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = text[i];
    auto const byte = static_cast<unsigned char>(c);
    auto const next = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
    if (c == '"') {
      out += "\\\"";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (control(c)) {
      hex(out, "\\x", byte, 2);
    } else if (byte == 0xC2 && next(1) < 0xA0) {  // C1 controls, NEL among them
      hex(out, "\\x", next(1), 2);
      ++i;
    } else if (byte == 0xE2 && next(1) == 0x80 && (next(2) == 0xA8 || next(2) == 0xA9)) {  // line separators
      hex(out, "\\u", 0x2000U | (next(2) - 0x80U), 4);
      i += 2;
    } else if (byte == 0xEF && next(1) == 0xBB && next(2) == 0xBF) {  // byte order mark
      out += "\\uFEFF";
      i += 2;
    } else if (byte == 0xEF && next(1) == 0xBF && next(2) >= 0xBE) {  // U+FFFE, U+FFFF: not characters
      hex(out, "\\u", 0xFF00U | (0xC0U + (next(2) & 0x3FU)), 4);
      i += 2;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string yaml_block(std::string_view text, std::size_t indent) {
  auto quoted = yaml_quoted(text);
  bool plain = text.size() > 1 && text.back() == '\n' && text[text.size() - 2] != '\n' && text.front() != ' ' &&
               text.front() != '\n';
  // Whatever needs an escape other than for quotes and line breaks is not for a literal block.
  for (std::size_t i = 0; plain && i < quoted.size(); ++i) {
    if (quoted[i] != '\\') continue;
    ++i;
    plain = quoted[i] == 'n' || quoted[i] == '"' || quoted[i] == '\\';
  }
  if (!plain) return quoted;
  std::string out = "|";
  for (auto rest = text.substr(0, text.size() - 1);;) {
    auto const end = rest.find('\n');
    auto const line = rest.substr(0, end);
    out += '\n';
    if (!line.empty()) out += std::string(indent, ' ');
    out += line;
    if (end == std::string_view::npos) return out;
    rest.remove_prefix(end + 1);
  }
}

std::string shell_quoted(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    throw Error(Errc::config_invalid, "a value holds a NUL, ", "which no command line can: take it away");
  }
  bool const plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:,@%+-").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string out = "'";
  for (auto const c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

std::string shell_expanded(std::string_view text) {
  std::string out;
  std::string plain;
  while (!text.empty()) {
    auto const close = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    auto const name = close == std::string_view::npos ? std::string_view{} : text.substr(2, close - 2);
    if (env_name(name)) {
      if (!plain.empty()) out += shell_quoted(plain);
      plain.clear();
      out += concat("\"${", name, "-\\$(", name, ")}\"");
      text.remove_prefix(close + 1);
      continue;
    }
    plain += text.front();
    text.remove_prefix(text.starts_with("$$") ? 2 : 1);
  }
  return plain.empty() && !out.empty() ? out : out + shell_quoted(plain);
}

std::string ini_value(std::string_view text) {
  need_text(text);
  if (std::any_of(text.begin(), text.end(), [](char c) { return control(c) || c == '"'; })) {
    throw Error(Errc::config_invalid, "'", text, "' cannot stand in an INI file: take line breaks and quotes away");
  }
  return std::string(text);
}

std::string plain_word(std::string_view text) {
  need_text(text);
  if (text.empty() ||
      std::any_of(text.begin(), text.end(), [](char c) { return control(c) || c == ' ' || c == '#'; })) {
    throw Error(Errc::config_invalid, "'", text, "' cannot stand in a list of hosts: take blanks and '#' away");
  }
  return std::string(text);
}

}  // namespace prdist::gen
