// SPDX-License-Identifier: Apache-2.0
// The renderer, with templates that do what they should not.
#include "render.hpp"

#include <filesystem>
#include <fstream>
#include <prdist/core/text.hpp>

#include "../data/temp_dir.hpp"
#include "quoting.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

std::string render(std::string const& text, Json const& data, std::string const& other = {}) {
  TempDir const dir;
  dir.file("t.yaml.inja", text);
  dir.file("other.yaml.inja", other);
  Renderer renderer(dir.path());
  return renderer.yaml("t.yaml", data);
}

std::string fault(std::string const& text, Json const& data, std::string const& other = {}) {
  try {
    auto const out = render(text, data, other);
    ADD_FAILURE() << "nothing was thrown, but written: " << out;
  } catch (TemplateError const& error) {
    return error.what();
  }
  return {};
}

TEST(Render, WritersQuoteAndIndent) {
  EXPECT_EQ(render("a: {{ q(s) }}\nb: {{ num(n) }}\nc:\n{{ tree(t, 2) }}\nd:\n{{ part(\"other.yaml\", t, 2) }}\n",
                   {{"s", "x: y"},
                    {"n", 3},
                    {"t", {{"list", {1, "two", {{"k", "v"}}}}, {"no", "yes"}, {"empty", Json::object()}}}},
                   "k: {{ q(no) }}\n"),
            "a: \"x: y\"\nb: 3\nc:\n  empty: {}\n  list:\n    - 1\n    - \"two\"\n    - \"k\": \"v\"\n  \"no\": "
            "\"yes\"\nd:\n  k: \"yes\"\n");
}

TEST(Render, ABareValueIsRefused) {
  EXPECT_TRUE(holds(fault("a: b\nc: {{ s }}\n", {{"s", "x"}}), "t.yaml.inja:2: a value is written raw: s "));
  EXPECT_TRUE(holds(fault("a: {{s}}\n", {{"s", "x"}}), "raw"));
  EXPECT_TRUE(holds(fault("a: {{- s -}}\n", {{"s", "x"}}), "raw"));
  EXPECT_TRUE(holds(fault("a: {{ upper(s) }}\n", {{"s", "x"}}), "raw"));
  EXPECT_TRUE(holds(fault("a: {{ b }}\n", {{"b", 1}}, ""), "raw"));
  EXPECT_TRUE(holds(fault("a:\n  ## for x in s\n- 1\n## endfor\n", {{"s", "x"}}), "t.yaml.inja:2: inja takes a line"));
}

TEST(Render, EveryShippedTemplateGoesThroughTheWriters) {
  // The lint runs when a template is parsed; rendering with no data gets that far and no further.
  for (auto const& entry : std::filesystem::directory_iterator(PRGEN_TEMPLATES)) {
    auto const name = entry.path().stem().string();
    Renderer renderer(PRGEN_TEMPLATES);
    try {
      static_cast<void>(renderer.text(name, Json::object()));
    } catch (TemplateError const& error) {
      EXPECT_EQ(std::string(error.what()).find("written raw"), std::string::npos) << error.what();
    }
  }
}

TEST(Render, StringsInAPlaceWithoutQuotesChangeTheStructure) {
  EXPECT_TRUE(holds(fault("a: {{ q(s) }}{{ q(s) }}\n", {{"s", "x"}}), "not YAML"));
  EXPECT_TRUE(holds(fault("a: 'x{{ q(s) }}'\n", {{"s", "x'\nb: 'c"}}), "t.yaml.inja"));
  EXPECT_TRUE(holds(fault("a: |\n  {{ q(s) }}\n", {{"s", "x"}}), "changes the structure"));
  EXPECT_TRUE(holds(fault("a: {{ q(s) | upper }}\n", {{"s", "x"}}), "changes the structure"));
}

TEST(Render, WritersForScriptsDoNotWriteYaml) {
  for (auto const* const writer : {"sh", "args", "ini", "word"}) {
    EXPECT_TRUE(holds(fault(prdist::concat("a: {{ ", writer, "(s) }}\n"), {{"s", "x"}}),
                      prdist::concat(writer, "() does not write YAML; write the value through q()")));
  }
}

TEST(Render, TemplatesMayHoldMoreOfYamlThanOursDo) {
  EXPECT_EQ(render("# for {{ q(s) }}\na: ['b', {{ q(s) }}]\nc: &d {e: {{ q(s) }}}\n", {{"s", "x: [y"}}),
            "# for \"x: [y\"\na: ['b', \"x: [y\"]\nc: &d {e: \"x: [y\"}\n");
  EXPECT_TRUE(holds(fault("a: ['b', {{ q(s) }}\n", {{"s", "x"}}), "writes what is not YAML"));
  EXPECT_TRUE(holds(fault("a: ['{{ q(s) }}']\n", {{"s", "x"}}), "changes the structure"));
  EXPECT_TRUE(holds(fault("a: \x01\n", {{"s", "x"}}), "t.yaml.inja:1: a control character stands here"));
}

TEST(Render, WrongTypesAndMissingDataAreTemplateErrors) {
  EXPECT_TRUE(holds(fault("a: {{ q(n) }}\n", {{"n", 3}}), "q() takes a string"));
  EXPECT_TRUE(holds(fault("a: {{ num(s) }}\n", {{"s", "3"}}), "num() takes a number"));
  EXPECT_TRUE(holds(fault("a: {{ q(nothing) }}\n", Json::object()), "t.yaml.inja:1"));
  EXPECT_TRUE(holds(fault("a: {{ q(s\n", {{"s", "x"}}), "t.yaml.inja:"));
  EXPECT_TRUE(holds(fault("a: {{ q(s) }}\n", {{"s", "\xFF"}}), "not UTF-8"));
}

TEST(Render, TemplatesStayInTheirFolder) {
  EXPECT_TRUE(holds(fault("{{ part(\"../secret\", t, 0) }}\n", {{"t", 1}}), "all stand in one folder"));
  EXPECT_TRUE(holds(fault("{% include \"/etc/passwd\" %}\n", Json::object()), "t.yaml.inja"));
  EXPECT_TRUE(holds(fault("{{ part(\"absent.yaml\", t, 0) }}\n", {{"t", 1}}), "--template-dir"));
}

TEST(Render, ReadsBackWhatItWrote) {
  auto const documents = documents_of("---\na: 1\nb: \"1\"\nc: true\nd: \"true\"\n---\n- x\n");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0], (Json{{"a", 1}, {"b", "1"}, {"c", true}, {"d", "true"}}));
  EXPECT_EQ(documents[1], Json::array({"x"}));
}

}  // namespace
