// SPDX-License-Identifier: Apache-2.0
#include "plain_yaml.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "source.hpp"

namespace prdist::gen {

namespace {

constexpr std::size_t deepest = 64;
constexpr std::size_t longest_key = 512;  // YAML lets a key have 1024 characters, quotes and escapes included

/// Thrown where a text leaves the part of YAML that is read here.
struct Unknown {};

void need(bool condition) {
  if (!condition) throw Unknown{};
}

bool word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '/' ||
         c == '_' || c == '-' || c == '=';
}

/// Whether readers take every byte for what it is: no control but the line break, nothing that some fold or drop.
bool all_readers_agree(std::string_view text) {
  bool ascii = true;
  for (auto const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7F) return false;
    ascii = ascii && byte < 0x80;
  }
  if (ascii) return true;
  if (first_bad_utf8(text) != std::string_view::npos) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 0x80) continue;
    auto const rest = text.substr(i, 3);
    if (rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0) return false;  // C1 controls
    for (std::string_view const odd : {"\u2028", "\u2029", "\uFEFF", "\uFFFE", "\uFFFF"}) {
      if (rest == odd) return false;
    }
  }
  return true;
}

void append_utf8(std::uint32_t code, std::string& out) {
  auto const put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

/// Reads line by line; a block is known by the column of its first character.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::vector<YamlToken> documents() {
    advance();
    while (!at_end_) {
      if (new_document()) advance();
      need(!at_end_ && !new_document());
      add(YamlToken::Kind::document);
      block(0);
      need(at_end_ || new_document());
    }
    return std::move(tokens_);
  }

 private:
  void add(YamlToken::Kind kind, std::string text = {}) { tokens_.push_back({kind, std::move(text)}); }

  /// `line_` becomes the next line, without its indentation, that is neither empty nor a comment.
  void advance() {
    do {
      at_end_ = rest_.empty();
      if (at_end_) return;
      auto const line = next_line();
      column_ = std::min(line.find_first_not_of(' '), line.size());
      line_ = line.substr(column_);
    } while (line_.empty() || line_.front() == '#');
    need(line_.back() != ' ');
  }

  std::string_view next_line() {
    auto const end = rest_.find('\n');
    auto const line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line;
  }

  [[nodiscard]] bool new_document() const { return column_ == 0 && line_ == "---"; }
  [[nodiscard]] bool inside(std::size_t column) const { return !at_end_ && column_ == column && !new_document(); }
  [[nodiscard]] bool item() const { return line_.starts_with("- "); }

  void block(std::size_t column) {
    need(column_ == column && ++depth_ <= deepest);
    if (item()) {
      list(column);
    } else {
      map(column);
    }
    add(YamlToken::Kind::end);
    need(at_end_ || column_ <= column);
    --depth_;
  }

  void list(std::size_t column) {
    add(YamlToken::Kind::list);
    while (inside(column) && item()) {
      line_.remove_prefix(2);
      need(!line_.empty() && line_.front() != ' ');
      auto const probe = line_;
      auto const first = scalar();
      if (line_.empty()) {
        tokens_.push_back(first);
        advance();
      } else if (line_.starts_with(':')) {
        line_ = probe;
        column_ = column + 2;
        block(column + 2);
      } else {
        throw Unknown{};
      }
    }
  }

  void map(std::size_t column) {
    add(YamlToken::Kind::map);
    std::vector<std::string> seen;
    while (inside(column) && !item()) {
      auto const length = line_.size();
      auto key = scalar();
      need(length - line_.size() <= longest_key && line_.starts_with(':'));
      need(std::find(seen.begin(), seen.end(), key.text) == seen.end());
      seen.push_back(key.text);
      tokens_.push_back(std::move(key));
      line_.remove_prefix(1);
      if (line_.empty()) {
        advance();
        // A list may stand as far to the left as its key.
        need(!at_end_ && (column_ > column || (column_ == column && item())));
        block(column_);
      } else {
        need(line_.starts_with(' ') && line_.size() > 1);
        line_.remove_prefix(1);
        value(column);
      }
    }
  }

  void value(std::size_t column) {
    if (line_ == "|") {
      literal(column);
      return;
    }
    if (line_ == "{}" || line_ == "[]") {
      add(line_ == "{}" ? YamlToken::Kind::map : YamlToken::Kind::list);
      add(YamlToken::Kind::end);
    } else {
      tokens_.push_back(scalar());
      need(line_.empty());
    }
    advance();
  }

  /// `|` and the lines that stand further to the right than their key, at `column`.
  void literal(std::size_t column) {
    std::string text;
    std::size_t indent = 0;
    bool blank = false;
    while (!rest_.empty()) {
      auto const before = rest_;
      auto const line = next_line();
      auto const first = std::min(line.find_first_not_of(' '), line.size());
      if (!line.empty() && indent == 0) indent = first;
      if (!line.empty() && first < std::max(indent, column + 1)) {
        rest_ = before;
        break;
      }
      need(indent > column && (line.empty() || first < line.size()));  // readers differ about lines of blanks
      blank = line.empty();
      if (!blank) text += line.substr(indent);
      text += '\n';
    }
    need(!text.empty() && !blank);
    add(YamlToken::Kind::string, std::move(text));
    advance();
  }

  YamlToken scalar() { return line_.starts_with('"') ? string() : word(); }

  YamlToken word() {
    auto const end = std::find_if_not(line_.begin(), line_.end(), word_character);
    std::string text(line_.begin(), end);
    // Among what is left out are '---', '=' and whatever stands for nothing.
    need(std::any_of(text.begin(), text.end(), [](char c) { return c != '-' && c != '.' && c != '='; }));
    need(text.front() != '=' && text != "null" && text != "Null" && text != "NULL");
    line_.remove_prefix(text.size());
    return {YamlToken::Kind::word, std::move(text)};
  }

  YamlToken string() {
    std::string text;
    std::size_t i = 1;
    for (; i < line_.size() && line_[i] != '"'; ++i) {
      if (line_[i] != '\\') {
        text += line_[i];
        continue;
      }
      need(++i < line_.size());
      switch (line_[i]) {
        case '"': text += '"'; break;
        case '\\': text += '\\'; break;
        case 'n': text += '\n'; break;
        case 't': text += '\t'; break;
        case 'x': i = escape(i, 2, text); break;
        case 'u': i = escape(i, 4, text); break;
        default: throw Unknown{};
      }
    }
    need(i < line_.size());
    line_.remove_prefix(i + 1);
    return {YamlToken::Kind::string, std::move(text)};
  }

  /// Appends what the `digits` hexadecimal digits behind `i` stand for, and returns the place of the last of them.
  std::size_t escape(std::size_t i, std::size_t digits, std::string& text) const {
    std::uint32_t code = 0;
    for (std::size_t k = 0; k < digits; ++k) {
      need(++i < line_.size());
      constexpr std::string_view hex = "0123456789ABCDEF";
      auto const digit = hex.find(line_[i]);
      need(digit != std::string_view::npos);
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    need(code != 0 && (code < 0xD800 || code > 0xDFFF));
    append_utf8(code, text);
    return i;
  }

  std::string_view rest_;
  std::string_view line_{};
  std::size_t column_ = 0;
  std::size_t depth_ = 0;
  bool at_end_ = false;
  std::vector<YamlToken> tokens_{};
};

}  // namespace

std::optional<std::vector<YamlToken>> read_plain_yaml(std::string_view text) {
  if (!text.ends_with('\n') || !all_readers_agree(text)) return std::nullopt;
  try {
    return Reader(text).documents();
  } catch (Unknown const&) {
    return std::nullopt;
  }
}

}  // namespace prdist::gen
