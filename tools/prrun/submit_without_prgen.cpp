// SPDX-License-Identifier: Apache-2.0
// What a prrun says that was built where prgen's dependencies are not installed.
#include <iostream>

#include <prdist/core/error.hpp>

#include "submit_flags.hpp"

namespace prrun {

int run_submit(Words const& words) {
  SubmitFlags flags;
  Words command;
  if (auto const code = parse_submission(words, flags, command)) return *code;
  prdist::Error const error(prdist::Errc::config_missing, "submit: this prrun was built without prgen, ",
                            "which reads backend.yaml: build it with ./dev build, which gets what prgen needs "
                            "(yaml-cpp, nlohmann-json, inja)");
  std::cerr << error.what() << '\n';
  return exit_code(error.code());
}

}  // namespace prrun
