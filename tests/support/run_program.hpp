// SPDX-License-Identifier: Apache-2.0
// Runs a program of ours by its command line, for tests of what it prints and how it ends.
#pragma once

#include <sys/wait.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace prdist::test {

struct Ran {
  int code = -1;     ///< -1 for one that did not exit by itself
  std::string text;  ///< both streams
};

[[nodiscard]] inline Ran run_program(std::string const& program, std::string const& arguments) {
  Ran ran;
  auto* const pipe = ::popen((program + ' ' + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char chunk[4096];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) ran.text.append(chunk, got);
  auto const status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

}  // namespace prdist::test
