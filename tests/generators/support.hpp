// SPDX-License-Identifier: Apache-2.0
// prgen in this process: words in, exit code and both streams out.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli.hpp"
#include "diagnostic.hpp"
#include "pipeline.hpp"

namespace prdist::gen::test {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

inline Ran prgen(std::vector<std::string> words, std::string const& input = {}) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  words.insert(words.begin(), {"--template-dir", PRGEN_TEMPLATES});
  Ran ran;
  ran.code = run(words, in, out, err, false);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

/// A file that is right for k8s, with `extra` lines below submit.
inline std::string good(std::string const& extra = {}) {
  return "engine:\n  backend: k8s\n  job_name: ctr\n  submit:\n    server_num: 2\n    trainer_num: 2\n"
         "    docker_image: hub.example.com/ctr:1.0\n    scheduler: default\n" +
         extra;
}

inline SourcePtr source(std::string text, std::string name = "backend.yaml") {
  return std::make_shared<Source const>(Source{std::move(name), std::move(text)});
}

inline std::string with(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Codes of all diagnostics, in order, parted by blanks.
inline std::string codes(Diagnostics const& diagnostics) {
  std::string all;
  for (auto const& d : diagnostics.sorted()) {
    if (d.severity != Severity::note) all += (all.empty() ? "" : " ") + d.code;
  }
  return all;
}

inline testing::AssertionResult holds(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

}  // namespace prdist::gen::test
