// SPDX-License-Identifier: Apache-2.0
// The target that docs/extending.md adds: the document's template and code are these, and they work.
#include <filesystem>
#include <prdist/core/text.hpp>

#include "../data/temp_dir.hpp"
#include "keys.hpp"
#include "support.hpp"
#include "target.hpp"
#include "targets/pod.hpp"

// The document's file in a namespace of its own, so that a tree which has followed the document links all the same.
namespace sample {

using namespace ::prdist;
using namespace ::prdist::gen;
// clang-format off
#include "extending/compose.cpp"
// clang-format on

}  // namespace sample

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;
using sample::prdist::gen::render_compose;

std::string between(std::string const& text, std::string const& begin, std::string const& end) {
  auto const from = text.find(begin);
  if (from == std::string::npos) return {};
  auto const start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

TEST(Extending, TheDocumentsTargetRenders) {
  auto const document = contents(PRGEN_EXTENDING);
  auto const code =
      contents(std::filesystem::path(PRGEN_EXTENDING).parent_path() / "../tests/generators/extending/compose.cpp");
  ASSERT_FALSE(code.empty());
  EXPECT_TRUE(holds(document, "```cpp\n" + code + "```\n")) << "the document shows other code than is compiled here";
  auto const text = between(document, "```jinja\n", "```");
  ASSERT_FALSE(text.empty());

  TempDir const dir;
  dir.file("compose.yaml.inja", text);
  Renderer renderer(dir.path());
  Diagnostics diagnostics;
  Options const options{.command = {"./train", "it's: a test"}};
  auto const job = load(source(good()), nullptr, options, diagnostics);
  ASSERT_TRUE(job && !diagnostics.failed());
  auto const files = render_compose({job->spec, options, renderer, diagnostics});
  auto const services = documents_of(files.at(0).text).at(0)["services"];
  EXPECT_EQ(services.size(), 4U);
  EXPECT_EQ(services["trainer-1"]["environment"]["PADDLE_TRAINER_ID"], "1");
  EXPECT_EQ(services["pserver-0"]["environment"]["PADDLE_PSERVERS_IP_PORT_LIST"], "pserver-0:30240,pserver-1:30240");
  EXPECT_EQ(services["pserver-0"]["command"].back(), "it's: a test");
  EXPECT_EQ(services["pserver-0"]["image"], "hub.example.com/ctr:1.0");
  auto bare = job->spec;
  bare.image = {};
  EXPECT_TRUE(render_compose({bare, options, renderer, diagnostics}).empty());
  EXPECT_EQ(codes(diagnostics), "PR008");
}

/// A key's row in the manual.
std::string row_of(Key const& key) {
  auto const joined = [](std::string_view list, std::string const& quote) {
    std::string text;
    for (auto const& word : words(list)) text += prdist::concat(text.empty() ? "" : ", ", quote, word, quote);
    return text;
  };
  auto const value = [&]() -> std::string {
    switch (key.rule) {
      case Rule::text: return "text";
      case Rule::name: return "name";
      case Rule::quantity: return "quantity";
      case Rule::image: return "image";
      case Rule::path: return "path";
      case Rule::secret: return "secret";
      case Rule::choice: return joined(key.choices, "`");
      case Rule::flag: return "true, false";
      case Rule::number: return prdist::concat(key.low, " to ", key.high);
      case Rule::list: return "list";
      case Rule::map: return "map";
      case Rule::records: return prdist::concat("list of {", joined(key.choices, ""), "}");
    }
    return {};
  }();
  auto const standard = key.standard.empty()   ? std::string("–")
                        : key.plain_standard() ? prdist::concat('`', key.standard, '`')
                                               : std::string(key.standard);
  return prdist::concat("\n| `", key.path, "` | ", value, " | ", standard, " | ", key.about, " | ",
                        key.targets.empty() ? "all" : joined(key.targets, ""), " |\n");
}

TEST(Extending, TheManualNamesEveryKeyAndCode) {
  auto const manual = contents(PRGEN_MANUAL);
  for (auto const& key : keys()) {
    auto const topic = manual.find(prdist::concat("\n### ", key.topic, '\n'));
    ASSERT_NE(topic, std::string::npos) << key.topic;
    auto const end = manual.find("\n#", topic + 1);
    EXPECT_TRUE(holds(manual.substr(topic, end - topic), row_of(key)));
  }
  for (auto const& target : targets()) EXPECT_TRUE(holds(manual, "### " + std::string(target.name)));
}

}  // namespace
