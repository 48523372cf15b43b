// SPDX-License-Identifier: Apache-2.0
// Every folder of golden/ is a job: backend.yaml, perhaps config.yaml and flags, and what prgen makes of them. Run with
// PRGEN_UPDATE_GOLDEN=1 to write the expected files anew; then read the diff as a user would.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

#include "../data/temp_dir.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;
namespace fs = std::filesystem;

std::vector<std::string> lines(std::string const& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  for (std::size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size())
    text.replace(i, from.size(), to);
  return text;
}

/// What a job's folder expects: the name of a file to its text.
std::map<std::string, std::string> outcome(fs::path const& folder) {
  TempDir const out;
  auto const target = (out.path() / "out").native();
  std::vector<std::string> words{"backend.yaml"};
  for (auto const& line : lines(contents(folder / "flags"))) words.push_back(replaced(line, "{out}", target));
  auto const before = fs::current_path();
  fs::current_path(folder);
  auto const first = prgen(words);
  words.emplace_back("--force");
  auto const second = prgen(words);
  fs::current_path(before);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, second.out) << "two runs differ";
  std::map<std::string, std::string> files{{"stderr", replaced(first.err, target, "{out}")}};
  bool const yaml = first.out.starts_with("---\n");
  if (!first.out.empty()) files[yaml ? "expected.yaml" : "expected.sh"] = first.out;
  if (fs::exists(target)) {
    for (auto const& entry : fs::directory_iterator(target)) {
      files["expected/" + entry.path().filename().native()] = contents(entry.path());
      bool const script = entry.path().extension() == ".sh";
      EXPECT_EQ((fs::status(entry).permissions() & fs::perms::owner_exec) != fs::perms::none, script) << entry.path();
    }
  }
  for (auto& [name, text] : files)
    text = replaced(text, "prdist/prgen: \"" + std::string(prdist::version), "prdist/prgen: \"VERSION");
  return files;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, IsWhatItWas) {
  fs::path const folder = fs::path(PRGEN_GOLDEN) / GetParam();
  auto const files = outcome(folder);
  if (std::getenv("PRGEN_UPDATE_GOLDEN") != nullptr) {
    fs::remove_all(folder / "expected");
    for (auto const* const name : {"expected.yaml", "expected.sh", "stderr"}) fs::remove(folder / name);
    for (auto const& [name, text] : files) {
      fs::create_directories((folder / name).parent_path());
      std::ofstream(folder / name, std::ios::binary) << text;
    }
  }
  std::size_t expected = 0;
  for (auto const& entry : fs::recursive_directory_iterator(folder)) {
    auto const name = fs::relative(entry.path(), folder).native();
    if (entry.is_regular_file() && (name.starts_with("expected") || name == "stderr")) ++expected;
  }
  EXPECT_EQ(files.size(), expected);
  for (auto const& [name, text] : files) EXPECT_EQ(text, contents(folder / name)) << name;
}

TEST_P(Golden, ConvertedItRendersTheSame) {
  fs::path const folder = fs::path(PRGEN_GOLDEN) / GetParam();
  auto flags = lines(contents(folder / "flags"));
  TempDir const out;
  auto const render = [&](std::string const& file, std::string const& directory) {
    std::vector<std::string> words{file};
    for (auto const& flag : flags) words.push_back(replaced(flag, "{out}", directory));
    auto ran = prgen(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    if (fs::exists(directory)) {
      std::map<std::string, std::string> files;
      for (auto const& entry : fs::directory_iterator(directory))
        files[entry.path().filename()] = contents(entry.path());
      for (auto const& [name, text] : files) ran.out += prdist::concat(name, '\n', text);
    }
    return ran.out;
  };
  auto const before = fs::current_path();
  fs::current_path(folder);
  auto const converted = prgen({"convert", "backend.yaml", "--duplicate-keys=last"});
  EXPECT_EQ(converted.code, 0) << converted.err;
  auto const file = out.file("converted.yaml", converted.out);
  auto const old = render("backend.yaml", (out.path() / "a").native());
  auto const fresh = render(file, (out.path() / "b").native());
  fs::current_path(before);
  EXPECT_EQ(old, fresh) << converted.out;
  auto const twice = prgen({"convert", file});
  EXPECT_EQ(lines(twice.out).back(), lines(converted.out).back());
}

std::vector<std::string> cases() {
  std::vector<std::string> all;
  for (auto const& entry : fs::directory_iterator(PRGEN_GOLDEN)) {
    if (entry.is_directory()) all.push_back(entry.path().filename());
  }
  std::sort(all.begin(), all.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Job, Golden, testing::ValuesIn(cases()), [](auto const& given) { return given.param; });

/// Quantities may be written as numbers or as strings; Kubernetes reads both alike.
void quantities_as_strings(Json& tree) {
  if (tree.is_object()) {
    for (auto const* const kind : {"limits", "requests"}) {
      if (!tree.contains(kind)) continue;
      for (auto& value : tree[kind]) value = value.is_string() ? value : Json(value.dump());
    }
  }
  if (tree.is_structured()) {
    for (auto& value : tree) quantities_as_strings(value);
  }
}

class Document : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Document, ComesOutFieldByField) {
  auto const& [job, document] = GetParam();
  auto rendered = documents_of(contents(fs::path(PRGEN_GOLDEN) / job / "expected.yaml"));
  auto shown = documents_of(contents(fs::path(PRGEN_DOCUMENTS) / (document + ".yaml")));
  ASSERT_EQ(rendered.size(), 1U);
  ASSERT_EQ(shown.size(), 1U);
  quantities_as_strings(rendered[0]);
  quantities_as_strings(shown[0]);
  EXPECT_EQ(Json::diff(shown[0], rendered[0]), Json::array());
}

INSTANTIATE_TEST_SUITE_P(Legacy, Document,
                         testing::Values(std::pair("volcano_paddlerec_doc_legacy", "volcano"),
                                         std::pair("paddlejob_ps_legacy", "paddlejob_ps"),
                                         std::pair("paddlejob_collective_legacy", "paddlejob_collective"),
                                         std::pair("k8s_v2_doc_legacy", "job_v2")),
                         [](auto const& given) { return given.param.second; });

}  // namespace
