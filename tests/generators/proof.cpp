// SPDX-License-Identifier: Apache-2.0
// The proof does not trust the functions that write values: here they write what they should not.
#include "proof.hpp"

#include <prdist/core/text.hpp>

#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

/// What comes of `a: ` and a value for which `written` was written.
std::string outcome(std::string const& value, std::string const& written) {
  Marks marks;
  auto const other = marks.around("other", "\"other\"");
  auto const text = prdist::concat("a: ", marks.around(value, written), "\nb: ", other, '\n');
  try {
    return marks.proved("t.yaml", text);
  } catch (TemplateError const& error) {
    return error.what();
  }
}

TEST(Proof, AValueThatIsReadAsItselfStands) {
  EXPECT_EQ(outcome("x", "\"x\""), "a: \"x\"\nb: \"other\"\n");
  EXPECT_EQ(outcome("x\n", "|\n  x"), "a: |\n  x\nb: \"other\"\n");
  EXPECT_EQ(outcome("@prgen-0", "\"@prgen-0\""), "a: \"@prgen-0\"\nb: \"other\"\n");
}

TEST(Proof, AValueThatIsReadOtherwiseIsRefused) {
  std::vector<std::pair<std::string, std::string>> const wrong{{"x", "x"},  // a word, where a string was meant
                                                               {"x", "\"y\""},
                                                               {"x", "\"x\"\nc: \"d\""},
                                                               {"x", "\"x\"\n---\nc: \"d\""},
                                                               {"x\nc: d", "x\nc: d"},
                                                               {"x", "[\"x\"]"},
                                                               {"x", "{y: \"x\"}"},
                                                               {"x\n", "|\n  x\n  y"},
                                                               {"x\ny\n", "|\n  x\ny"},
                                                               {"x # y", "\"x\" # y"},
                                                               {"x", "&y \"z\""}};
  for (auto const& [value, written] : wrong) {
    auto const said = outcome(value, written);
    EXPECT_TRUE(said.starts_with("t.yaml.inja: a value changes the structure of the document; nothing was written") ||
                said.starts_with("t.yaml.inja writes what is not YAML, in line "))
        << written << '\n'
        << said;
  }
}

TEST(Proof, MarksHaveToBeWhole) {
  Marks marks;
  auto const text = marks.around("x", "\"x\"");
  EXPECT_EQ(Marks::first_in("ab"), std::string_view::npos);
  EXPECT_EQ(Marks::first_in("ab" + text), 2U);
  for (auto const& broken :
       {text.substr(1), text.substr(0, text.size() - 1), text + text.back(), text + text.front()}) {
    try {
      static_cast<void>(marks.proved("t.yaml", "a: " + broken + "\n"));
      ADD_FAILURE() << broken;
    } catch (TemplateError const& error) {
      EXPECT_TRUE(holds(error.what(), "t.yaml.inja: a value is written in pieces; nothing was written"));
    }
  }
}

}  // namespace
