// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

Diagnostics sample() {
  Diagnostics diagnostics;
  auto const file = source("a:\n  memory: 4GiB\n");
  diagnostics.warning("PR019", {file, 2, 3, 6, "b"}, "second");
  diagnostics.note("last of all", "do this");
  diagnostics.error("PR012", {file, 2, 11, 4, "submit.memory"}, "'4GiB' is not a quantity", "write 4Gi");
  diagnostics.error("PR012", {file, 2, 11, 4, "submit.memory"}, "'4GiB' is not a quantity", "write 4Gi");
  diagnostics.error("PR001", {file, 1, 1, 1, {}}, "50% broken,\nreally: yes");
  return diagnostics;
}

TEST(Report, TextIsACompilers) {
  EXPECT_EQ(
      report(sample(), {}),
      "backend.yaml:1:1: error: 50% broken,\\nreally: yes [PR001]\n  a:\n  ^\n"
      "backend.yaml:2:3: warning: b: second [PR019]\n    memory: 4GiB\n    ^~~~~~\n"
      "backend.yaml:2:11: error: submit.memory: '4GiB' is not a quantity [PR012]\n    memory: 4GiB\n            ^~~~\n"
      "  help: write 4Gi\n"
      "prgen: note: last of all\n  help: do this\n");
}

TEST(Report, ErrorsAreCapped) {
  auto const text = report(sample(), {.max_errors = 1});
  EXPECT_TRUE(holds(text, "1 more errors; --max-errors=0 shows all"));
  EXPECT_EQ(text.find("4Gi\n  help"), std::string::npos);
}

TEST(Report, ColourOnlyWhenAsked) {
  EXPECT_EQ(report(sample(), {}).find('\033'), std::string::npos);
  EXPECT_TRUE(holds(report(sample(), {.colour = true}), "\033[1;31merror:\033[0m"));
}

TEST(Report, JsonHasEveryField) {
  auto const json = nlohmann::json::parse(report(sample(), {.format = ReportFormat::json}));
  auto const& all = json["diagnostics"];
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[2]["code"], "PR012");
  EXPECT_EQ(all[2]["line"], 2);
  EXPECT_EQ(all[2]["column"], 11);
  EXPECT_EQ(all[2]["path"], "submit.memory");
  EXPECT_EQ(all[2]["help"], "write 4Gi");
  EXPECT_EQ(all[3]["severity"], "note");
  EXPECT_TRUE(all[3]["file"].is_null());
  EXPECT_EQ(nlohmann::json::parse(report({}, {.format = ReportFormat::json}))["diagnostics"].size(), 0U);
}

TEST(Report, GithubEscapesWhatWouldEndACommand) {
  auto const text = report(sample(), {.format = ReportFormat::github});
  EXPECT_TRUE(holds(text, "::error file=backend.yaml,line=1,col=1,title=PR001::50%25 broken,%0Areally: yes\n"));
  EXPECT_TRUE(holds(text, "::warning file=backend.yaml,line=2,col=3,title=PR019::b: second\n"));
  EXPECT_TRUE(holds(text, "::notice::last of all%0Ahelp: do this\n"));
}

TEST(Report, SarifNamesRulesAndRegions) {
  auto const json = nlohmann::json::parse(report(sample(), {.format = ReportFormat::sarif}));
  EXPECT_EQ(json["version"], "2.1.0");
  auto const& run = json["runs"][0];
  auto const& result = run["results"][2];
  EXPECT_EQ(result["ruleId"], "PR012");
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"], "PR012");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startColumn"], 11);
}

TEST(Report, NothingOfAValueSteersTheTerminal) {
  Diagnostics diagnostics;
  std::string const hostile = "\x1b]0;x\x07 \r\x7f\n\t \xC2\x9b \xE2\x80\xAE \xFF 名";
  diagnostics.error("PR001", {source("a: b\n", "\x1b[2J.yaml"), 1, 1, 1, {}}, hostile, hostile);
  auto const shown = "\\x1b]0;x\\x07 \\r\\x7f\\n\\t \\xc2\\x9b \\xe2\\x80\\xae \\xff 名";
  EXPECT_EQ(report(diagnostics, {}),
            std::string("\\x1b[2J.yaml:1:1: error: ") + shown + " [PR001]\n  a: b\n  ^\n  help: " + shown + "\n");
  auto const github = report(diagnostics, {.format = ReportFormat::github});
  EXPECT_EQ(github.find('\x1b'), std::string::npos);
  EXPECT_EQ(github.find('\r'), std::string::npos);
  EXPECT_EQ(github.find('\x7f'), std::string::npos);
  EXPECT_EQ(std::count(github.begin(), github.end(), '\n'), 1);
}

TEST(Report, BadBytesOfTheCommandLineDoNotThrow) {
  Diagnostics diagnostics;
  diagnostics.error("PR001", {}, "\xFF");
  EXPECT_NO_THROW(static_cast<void>(report(diagnostics, {.format = ReportFormat::json})));
}

}  // namespace
