// SPDX-License-Identifier: Apache-2.0
// prgen's command line: words to an Invocation, and an Invocation to an exit code.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "options.hpp"
#include "report.hpp"

namespace prdist::gen {

/// 0 done, 1 invalid input (for diff: a difference), 2 wrong usage (for diff: any error), 3 a file or template.
enum ExitCode : int { exit_ok = 0, exit_invalid = 1, exit_usage = 2, exit_io = 3 };

struct Invocation {
  std::string command = "render";
  std::vector<std::string> words{};  ///< files; of explain codes, of completion a shell
  std::string config{};
  Options options{};
  ReportOptions report{};
  std::string output = "yaml";
  std::string directory{};
  std::string against{};
  bool live = false;
  bool force = false;
  bool error_on_warning = false;
  bool quiet = false;
};

/// Runs prgen with the words behind its name. All of `out` is written at the end, and nothing of it on an error.
/// `terminal` says whether `err` is one, for colours.
int run(std::vector<std::string> const& words, std::istream& in, std::ostream& out, std::ostream& err, bool terminal);

}  // namespace prdist::gen
