// SPDX-License-Identifier: Apache-2.0
// prgen: from backend.yaml to manifests. The work is in the library beside this file.

#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli.hpp"

int main(int argc, char** argv) {
  // A reader that has gone shows as a write error, which has an exit code of its own.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  try {
    return prdist::gen::run(std::vector<std::string>(argv + 1, argv + argc), std::cin, std::cout, std::cerr,
                            ::isatty(STDERR_FILENO) == 1);
  } catch (std::exception const& error) {
    std::cerr << "prgen: error: " << error.what() << '\n';
    return prdist::gen::exit_io;
  }
}
