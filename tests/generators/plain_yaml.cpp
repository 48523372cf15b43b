// SPDX-License-Identifier: Apache-2.0
// The quick reader beside yaml-cpp: whatever it takes, yaml-cpp reads alike.
#include "plain_yaml.hpp"

#include <filesystem>
#include <random>

#include "../data/temp_dir.hpp"
#include "proof.hpp"
#include "quoting.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;
namespace fs = std::filesystem;
using Kind = YamlToken::Kind;

/// Of the safe profile: the other one keeps the documents' own forms.
std::vector<std::string> rendered_texts() {
  std::vector<std::string> texts;
  for (auto const& entry : fs::recursive_directory_iterator(PRGEN_GOLDEN)) {
    auto const path = entry.path();
    if (path.native().find("legacy") != std::string::npos) continue;
    bool const whole = path.filename() == "expected.yaml";
    bool const part = path.parent_path().filename() == "expected" && path.extension() == ".yaml";
    if (whole || (part && path.filename() != "config.yaml")) texts.push_back(contents(path));
  }
  return texts;
}

/// The tokens as yaml-cpp sees them; nothing when it refuses the text.
std::optional<std::vector<YamlToken>> by_yaml_cpp(std::string const& text) {
  try {
    std::vector<YamlToken> tokens;
    for (auto const& document : parsed_back("text", text)) {
      tokens.push_back({Kind::document});
      flatten(document, tokens);
    }
    return tokens;
  } catch (TemplateError const&) {
    return std::nullopt;
  }
}

std::string shown(std::vector<YamlToken> const& tokens) {
  constexpr char const* names[] = {"--- ", "{ ", "[ ", "end ", "", ""};
  std::string out;
  for (auto const& token : tokens) {
    out += names[static_cast<std::size_t>(token.kind)];
    if (token.kind == Kind::word) out += token.text + ' ';
    if (token.kind == Kind::string) out += '\'' + token.text + "' ";
  }
  return out;
}

std::string read(std::string const& text) {
  auto const tokens = read_plain_yaml(text);
  return tokens ? shown(*tokens) : "unknown";
}

TEST(PlainYaml, ReadsWhatTemplatesWrite) {
  EXPECT_EQ(read("a: b\n\"c d\": \"e\\n\\x1F\\u2028\"\n"), "--- { a b 'c d' 'e\n\x1F\u2028' end ");
  EXPECT_EQ(read("a:\n- b\n- c: d\n  e:\n    f: {}\n# told\ng: []\n"),
            "--- { a [ b { c d e { f { end end end end g [ end end ");
  EXPECT_EQ(read("---\na: |\n  b: \"\n\n    c\n---\n- \"\"\n"), "--- { a 'b: \"\n\n  c\n' end --- [ '' end ");
  EXPECT_EQ(read("- --flag=true\n- 1\n"), "--- [ --flag=true 1 end ");
}

TEST(PlainYaml, LeavesTheRestToOthers) {
  for (std::string const text : {"",
                                 "a: b",
                                 "a:\n",
                                 "a: \n",
                                 "a: null\n",
                                 "a: 'b'\n",
                                 "a: b c\n",
                                 "a: b # c\n",
                                 "a: [b]\n",
                                 "a: &b c\n",
                                 "a: *b\n",
                                 "a: !b c\n",
                                 "<<: a\n",
                                 "a: b\n  c\n",
                                 "a: b\n c: d\n",
                                 "a: \"b\n  c\"\n",
                                 "a: \"b\n",
                                 "a: \"b\"c\n",
                                 "a: \"\\/\"\n",
                                 "a: \"\\x0\"\n",
                                 "a: \"\\u0000\"\n",
                                 "a: \"\\uD800\"\n",
                                 "a: >\n  b\n",
                                 "a: |-\n  b\n",
                                 "a: |\nb: c\n",
                                 "a: |\n  b\n\n",
                                 "a: |\n   \n  b\n",
                                 "a: |\n\n  b\n",
                                 "a:\tb\n",
                                 "a: b\r\n",
                                 "a: \"\u0085\"\n",
                                 "a: \"\u2028\"\n",
                                 "a: \"\uFEFF\"\n",
                                 "a: \"\xFF\"\n",
                                 "a: b\na: c\n",
                                 "a: b\n\"a\": c\n",
                                 "- - a\n",
                                 "-\n",
                                 "-  a\n",
                                 "- a\nb: c\n",
                                 "a: b\n- c\n",
                                 "a:\n- b\n  - c\n",
                                 "a\n",
                                 "---\n---\na: b\n",
                                 "--- a\n",
                                 "...\n",
                                 "%YAML 1.2\n",
                                 "? a\n",
                                 "a: ---\n",
                                 "a: =\n",
                                 "a: b \n",
                                 "a:b\n",
                                 "a : b\n",
                                 "  a: b\nc: d\n"}) {
    EXPECT_EQ(read(text), "unknown") << text;
  }
  std::string deep;
  for (std::size_t i = 0; i < 100; ++i) deep += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(read(deep + std::string(100, ' ') + "a: b\n"), "unknown");
  EXPECT_EQ(read('"' + std::string(2000, 'a') + "\": b\n"), "unknown");
}

TEST(PlainYaml, TakesWhatOurTemplatesWrite) {
  auto const texts = rendered_texts();
  ASSERT_GT(texts.size(), 20U);
  for (auto const& text : texts) {
    auto const tokens = read_plain_yaml(text);
    ASSERT_TRUE(tokens) << text;
    EXPECT_EQ(*tokens, by_yaml_cpp(text));
  }
}

/// A text that is changed at random is read by neither, by yaml-cpp alone, or by both alike.
TEST(PlainYaml, NeverReadsOtherwiseThanYamlCpp) {
  std::mt19937 random(20240);
  constexpr std::string_view pieces[] = {"\n", " ",  "  ",    "-",   "- ",  ":",     ": ",     "\"",    "\\",  "|",
                                         "#",  " #", "{}",    "[]",  "[",   "}",     "'",      "&a",    "*a",  "!",
                                         "?",  "%",  "---\n", "...", "\\n", "~",     "null",   "0x1",   "yes", "é",
                                         "\t", ",",  ">",     "@",   "=",   "\\x41", "a: b\n", "- c\n", "|\n", "<<"};
  std::vector<std::string> seeds;
  for (auto const& text : rendered_texts()) {
    // Some lines of each: a change in a long text would nearly always meet what was seen already.
    for (std::size_t i = 0; i + 400 < text.size(); i += 1500) {
      auto const begin = text.rfind("\n---\n", i);
      seeds.push_back(text.substr(begin == std::string::npos ? 0 : begin + 1, 600) + '\n');
    }
  }
  ASSERT_GT(seeds.size(), 20U);
  std::size_t taken = 0;
  for (int round = 0; round < 12'000; ++round) {
    auto text = seeds[random() % seeds.size()];
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      auto const at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 4);
      } else {
        text.insert(at, pieces[random() % std::size(pieces)]);
      }
    }
    if (!text.ends_with('\n')) text += '\n';
    auto const tokens = read_plain_yaml(text);
    if (!tokens) continue;
    ++taken;
    auto const other = by_yaml_cpp(text);
    ASSERT_TRUE(other) << text;
    ASSERT_EQ(shown(*tokens), shown(*other)) << text;
  }
  EXPECT_GT(taken, 500U);
}

TEST(PlainYaml, GivesQuotedStringsBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto length = random() % 12; length > 0; --length) {
      constexpr std::string_view characters[] = {"\"",     "\\",     "\n",     "\t", "\x01", "\x7F", "\u0085",
                                                 "\u2028", "\uFEFF", "\uFFFF", "é",  "中",   "😀",    ":",
                                                 " ",      "#",      "'",      "-",  "a"};
      text += characters[random() % std::size(characters)];
    }
    auto const tokens = read_plain_yaml("a: " + yaml_quoted(text) + "\n");
    ASSERT_TRUE(tokens) << text;
    EXPECT_EQ((*tokens)[3], (YamlToken{Kind::string, text}));
  }
}

}  // namespace
