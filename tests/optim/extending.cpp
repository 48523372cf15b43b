// SPDX-License-Identifier: Apache-2.0
// docs/extending.md shows how a rule is added by one that is there. Both files are in the document word by word.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string contents(std::string const& path) {
  std::ifstream file(std::string(PRDIST_SOURCE_DIR "/") + path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST(Extending, TheDocumentShowsARuleAndItsTestAsTheyAre) {
  auto const document = contents("docs/extending.md");
  for (auto const* path : {"include/prdist/optim/rmsprop.hpp", "tests/optim/rmsprop.cpp"}) {
    auto const text = contents(path);
    ASSERT_FALSE(text.empty());
    EXPECT_NE(document.find("```cpp\n" + text + "```\n"), std::string::npos)
        << "docs/extending.md does not show " << path << " as it is";
  }
}
