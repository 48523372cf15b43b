// SPDX-License-Identifier: Apache-2.0
// Files that were right once, with some bytes or lines changed: a fixed seed, a bounded number.
#include <algorithm>
#include <filesystem>
#include <random>

#include "../data/temp_dir.hpp"
#include "fuzz_backend.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen::test;
namespace fs = std::filesystem;

std::vector<std::string> corpus() {
  std::vector<std::string> files;
  for (auto const& entry : fs::directory_iterator(PRGEN_GOLDEN))
    files.push_back(contents(entry.path() / "backend.yaml"));
  std::sort(files.begin(), files.end());
  return files;
}

std::string changed(std::string text, std::mt19937& random) {
  static std::vector<std::string> const pieces{"\"",
                                               "'",
                                               "\n",
                                               ": ",
                                               "- ",
                                               "#",
                                               "{",
                                               "}",
                                               "[",
                                               "]",
                                               "&a ",
                                               "*a",
                                               "!",
                                               "|",
                                               ">",
                                               "\t",
                                               std::string(1, '\0'),
                                               "\\",
                                               "~",
                                               "<<",
                                               "%",
                                               "@",
                                               "`",
                                               "--",
                                               "\xff",
                                               "你",
                                               "4GiB",
                                               "0",
                                               "null",
                                               "\r\n"};
  auto const below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n == 0 ? 0 : n - 1)(random);
  };
  for (auto rounds = 1 + below(2); rounds > 0 && !text.empty(); --rounds) {
    auto const at = below(text.size());
    switch (below(9)) {
      case 0:
      case 1:
      case 2: text.insert(at, pieces[below(pieces.size())]); break;
      case 3: text.erase(at, 1 + below(8)); break;
      case 4: text[at] = static_cast<char>(below(256)); break;
      case 5: text.insert(at, text.substr(below(text.size()), below(40))); break;
      case 6: text.resize(text.size() - below(20)); break;
      default: {                                      // a whole line goes
        auto const begin = text.rfind('\n', at) + 1;  // npos + 1 is the first line
        text.erase(begin, text.find('\n', begin) - begin + 1);
      }
    }
  }
  return text;
}

TEST(Fuzz, NoChangeOfBytesBreaksAPromise) {
  auto const files = corpus();
  std::mt19937 random(20200521);
  std::size_t rendered = 0;
  for (int i = 0; i < 3000; ++i) {
    auto const text = changed(files[static_cast<std::size_t>(i) % files.size()], random);
    ASSERT_EQ(broken_promise(text), "") << "for\n" << text;
    rendered += prgen({"check", "-"}, text).code == 0 ? 1 : 0;
  }
  EXPECT_GT(rendered, 200U) << "nearly nothing gets past the parser: the changes are too rough to test much";
}

}  // namespace
