// SPDX-License-Identifier: Apache-2.0
#include "yaml_reader.hpp"

#include <prdist/core/text.hpp>

#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

struct Read {
  std::optional<Node> node;
  Diagnostics diagnostics;
};

Read read(std::string const& text, ReadOptions const& options = {}) {
  Read out;
  out.node = read_yaml(source(text), options, out.diagnostics);
  return out;
}

TEST(YamlReader, KeepsPlacesAndQuotesOfEveryValue) {
  auto const got = read("a:\n  b: \"4Gi\"\n  c: [1, 你好]\n");
  ASSERT_TRUE(got.node);
  auto const* const b = got.node->find("a")->find("b");
  EXPECT_EQ(b->text, "4Gi");
  EXPECT_TRUE(b->quoted);
  EXPECT_EQ(b->where.line, 2U);
  EXPECT_EQ(b->where.column, 6U);
  EXPECT_EQ(b->where.length, 5U);
  auto const* const c = got.node->find("a")->find("c");
  ASSERT_EQ(c->items.size(), 2U);
  EXPECT_FALSE(c->items[0].quoted);
  EXPECT_EQ(c->items[1].where.column, 10U);
}

TEST(YamlReader, EmptyWordsAreNothingUnlessQuoted) {
  auto const got = read("a:\nb: ~\nc: null\nd: \"null\"\ne: \"\"\n");
  ASSERT_TRUE(got.node);
  for (auto const* const key : {"a", "b", "c"}) EXPECT_EQ(got.node->find(key)->kind, Node::Kind::null) << key;
  for (auto const* const key : {"d", "e"}) EXPECT_EQ(got.node->find(key)->kind, Node::Kind::scalar) << key;
}

TEST(YamlReader, DuplicateKeysAreAnErrorOrTheLastCounts) {
  auto const text = "submit:\n  k: 1\n  l: 2\n  k: 3\n";
  auto const strict = read(text);
  EXPECT_EQ(codes(strict.diagnostics), "PR004");
  EXPECT_EQ(strict.diagnostics.sorted()[0].where.line, 4U);
  EXPECT_TRUE(holds(strict.diagnostics.sorted()[0].message, "the first is in line 2"));
  ReadOptions last;
  last.last_duplicate_wins = true;
  auto const lenient = read(text, last);
  EXPECT_FALSE(lenient.diagnostics.failed());
  EXPECT_EQ(codes(lenient.diagnostics), "PR004");
  ASSERT_TRUE(lenient.node);
  EXPECT_EQ(lenient.node->find("submit")->find("k")->text, "3");
}

TEST(YamlReader, AliasesAreWrittenOutAndBounded) {
  auto const good = read("a: &x {k: v}\nb: *x\n");
  ASSERT_TRUE(good.node);
  EXPECT_EQ(good.node->find("b")->find("k")->text, "v");

  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    auto const name = std::to_string(i);
    auto const below = "*a" + std::to_string(i - 1);
    laughs += prdist::concat("a", name, ": &a", name, " [", below);
    for (int k = 0; k < 9; ++k) laughs += "," + below;
    laughs += "]\n";
  }
  auto const bomb = read(laughs);
  EXPECT_FALSE(bomb.node);
  EXPECT_EQ(codes(bomb.diagnostics), "PR003");

  auto const inside = read("a: &x [*x]\n");
  EXPECT_FALSE(inside.node);
  EXPECT_TRUE(inside.diagnostics.failed());
}

TEST(YamlReader, AliasesOfLongValuesAreBoundedByTheirBytes) {
  std::string many = "a: &a " + std::string(800'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 9000; ++i) many += ",*a";
  auto const bomb = read(many + "]\n");
  EXPECT_FALSE(bomb.node);
  EXPECT_EQ(codes(bomb.diagnostics), "PR003");
  EXPECT_TRUE(holds(bomb.diagnostics.sorted()[0].message, "bytes, aliases written out"));
  // Inside a list, too, and where the alias is a key.
  EXPECT_EQ(codes(read("a: &a [" + std::string(800'000, 'x') + "]\nb: [*a, *a]\n").diagnostics), "PR003");
  EXPECT_EQ(codes(read("a: &a " + std::string(800'000, 'x') + "\nb: *a\n").diagnostics), "");
}

TEST(YamlReader, SizeDepthAndTagsAreBounded) {
  EXPECT_EQ(codes(read("a: " + std::string(2 << 20, 'x')).diagnostics), "PR003");
  EXPECT_EQ(codes(read(std::string(65, '[') + std::string(65, ']')).diagnostics), "PR003");
  EXPECT_EQ(codes(read(std::string(100'000, '[')).diagnostics), "PR003");
  EXPECT_EQ(codes(read("a: !!python/object:os.system x\n").diagnostics), "PR005");
  EXPECT_EQ(codes(read("a: !!str 12\n").diagnostics), "");
  EXPECT_EQ(codes(read("<<: {a: b}\n").diagnostics), "PR005");
  EXPECT_EQ(codes(read("[a]: b\n").diagnostics), "PR005");
  EXPECT_EQ(codes(read("a: b\n---\nc: d\n").diagnostics), "PR005");
}

TEST(YamlReader, WhatIsNotUtf8HasAPlace) {
  auto const gbk = read("a: b\nc: \xC4\xE3\n");
  EXPECT_FALSE(gbk.node);
  ASSERT_EQ(codes(gbk.diagnostics), "PR002");
  EXPECT_EQ(gbk.diagnostics.sorted()[0].where.line, 2U);
  EXPECT_EQ(gbk.diagnostics.sorted()[0].where.column, 4U);
  EXPECT_EQ(codes(read(std::string("a: b\0c", 6)).diagnostics), "PR002");
  EXPECT_EQ(codes(read("\xFF\xFE"
                       "a")
                      .diagnostics),
            "PR002");
}

TEST(YamlReader, SyntaxErrorsSayWhereAndWhatToDo) {
  auto const tab = read("a:\n\tb: c\n");
  ASSERT_EQ(codes(tab.diagnostics), "PR001");
  EXPECT_EQ(tab.diagnostics.sorted()[0].where.line, 2U);
  EXPECT_TRUE(holds(tab.diagnostics.sorted()[0].help, "write spaces"));
  EXPECT_EQ(codes(read("a: \"b\n").diagnostics), "PR001");
  EXPECT_EQ(codes(read("a: [b\n").diagnostics), "PR001");
  auto const brace = read("a: {b: c\n");
  ASSERT_EQ(codes(brace.diagnostics), "PR001");
  EXPECT_TRUE(holds(brace.diagnostics.sorted()[0].help, "'}'"));
  EXPECT_EQ(brace.diagnostics.sorted()[0].where.line, 1U);
  EXPECT_EQ(brace.diagnostics.sorted()[0].where.column, 4U);
  auto const behind = read("a: \"a\"a\n");
  ASSERT_EQ(codes(behind.diagnostics), "PR001");
  EXPECT_TRUE(holds(behind.diagnostics.sorted()[0].help, "something stands behind the closing quote"));
  auto const alone = read("\"a\"a\n");
  ASSERT_EQ(codes(alone.diagnostics), "PR001");
  EXPECT_TRUE(holds(alone.diagnostics.sorted()[0].message, "something stands behind a value"));
  EXPECT_EQ(codes(read("").diagnostics), "PR001");
  EXPECT_EQ(codes(read("# nothing\n").diagnostics), "PR001");
}

TEST(Source, SnippetsUnderlineTheValueBehindWideCharacters) {
  auto const got = read("名字: [a, b, 4GiB]\n");
  ASSERT_TRUE(got.node);
  auto const& value = got.node->entries[0].value.items[2];
  EXPECT_EQ(snippet(value.where), "  名字: [a, b, 4GiB]\n  " + std::string(13, ' ') + "^~~~\n");
}

TEST(Source, SnippetsLetNothingSteerTheTerminal) {
  Where const where{source("a: \x1b[31mred\n"), 1, 4, 1, {}};
  EXPECT_EQ(snippet(where), "  a: ?[31mred\n     ^\n");
}

}  // namespace
