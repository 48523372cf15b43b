// SPDX-License-Identifier: Apache-2.0
#include "proof.hpp"

#include <memory>
#include <prdist/core/text.hpp>

#include "render.hpp"
#include "yaml_reader.hpp"

namespace prdist::gen {

namespace {

// A number, what was written for the value, and an end. Writers escape these characters, and templates have none.
constexpr char number_mark = '\x01';
constexpr char value_mark = '\x02';
constexpr char end_mark = '\x03';
constexpr std::string_view any_mark = "\x01\x02\x03";
constexpr std::string_view token_prefix = "@prgen-";

/// The text that users get, and the one with a token in place of every value.
struct Texts {
  std::string real{};
  std::string shadow{};
};

/// @throws TemplateError when marks do not follow each other as they were put
Texts without_marks(std::string const& name, std::string_view text) {
  Texts texts;
  texts.real.reserve(text.size());
  texts.shadow.reserve(text.size());
  auto const up_to = [&](char mark) {
    auto const at = text.find_first_of(any_mark);
    if (at == std::string_view::npos || text[at] != mark) {
      throw TemplateError(concat(name, ".inja: a value is written in pieces; nothing was written"));
    }
    auto const piece = text.substr(0, at);
    text.remove_prefix(at + 1);
    return piece;
  };
  while (text.find_first_of(any_mark) != std::string_view::npos) {
    auto const between = up_to(number_mark);
    texts.real += between;
    texts.shadow += concat(between, '"', token_prefix, up_to(value_mark), '"');
    texts.real += up_to(end_mark);
  }
  texts.real += text;
  texts.shadow += text;
  return texts;
}

/// Templates of users may hold more of YAML than the quick reader takes.
std::vector<YamlToken> tokens_of(std::string const& name, std::string const& text) {
  if (auto tokens = read_plain_yaml(text)) return std::move(*tokens);
  std::vector<YamlToken> tokens;
  for (auto const& document : parsed_back(name, text)) {
    tokens.push_back({YamlToken::Kind::document});
    flatten(document, tokens);
  }
  return tokens;
}

}  // namespace

std::string Marks::around(std::string const& value, std::string_view written) {
  values_.push_back(value);
  return concat(number_mark, values_.size() - 1, value_mark, written, end_mark);
}

std::size_t Marks::first_in(std::string_view text) {
  return text.find_first_of(any_mark);
}

std::string Marks::proved(std::string const& name, std::string_view rendered) const {
  auto texts = without_marks(name, rendered);
  auto const real = tokens_of(name, texts.real);
  auto shadow = tokens_of(name, texts.shadow);
  for (auto& token : shadow) {
    std::size_t number = 0;
    if (token.kind != YamlToken::Kind::string || !token.text.starts_with(token_prefix)) continue;
    if (parse_number(std::string_view(token.text).substr(token_prefix.size()), number) && number < values_.size()) {
      token.text = values_[number];
    }
  }
  if (real != shadow) {
    throw TemplateError(concat(name, ".inja: a value changes the structure of the document; nothing was written"));
  }
  return std::move(texts.real);
}

void flatten(Node const& node, std::vector<YamlToken>& out) {
  using Kind = YamlToken::Kind;
  switch (node.kind) {
    case Node::Kind::null: out.push_back({Kind::word, "null"}); return;
    case Node::Kind::scalar: out.push_back({node.quoted ? Kind::string : Kind::word, node.text}); return;
    case Node::Kind::sequence:
      out.push_back({Kind::list});
      for (auto const& item : node.items) flatten(item, out);
      break;
    case Node::Kind::map:
      out.push_back({Kind::map});
      for (auto const& [key, value] : node.entries) flatten(key, out), flatten(value, out);
      break;
  }
  out.push_back({Kind::end});
}

std::vector<Node> parsed_back(std::string const& name, std::string const& text) {
  Diagnostics diagnostics;
  ReadOptions const generous{false, 64U << 20U, 64, 4'000'000};
  auto documents = read_yaml_documents(std::make_shared<Source const>(Source{name, text}), generous, diagnostics);
  if (!documents || diagnostics.failed()) {
    auto const first = diagnostics.sorted().front();
    throw TemplateError(concat(name, ".inja writes what is not YAML, in line ", first.where.line, ": ", first.message,
                               ": ", first.where.source->line(first.where.line)));
  }
  return std::move(*documents);
}

}  // namespace prdist::gen
