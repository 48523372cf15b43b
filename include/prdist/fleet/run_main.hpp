// SPDX-License-Identifier: Apache-2.0
// The outermost frame of a program: an Error becomes a line of log and the exit code that the launch contract gives
// it, so that a launcher can tell a wrong configuration (78) from a lost peer (75).
#pragma once

#include <concepts>
#include <cstdio>
#include <exception>

#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>

namespace prdist {

/// Runs `body` and returns its exit code, or that of the error it threw. For main():
///   int main() { return prdist::run_main([] { ...; return 0; }); }
/// What it prints reaches a log line by line, as on a terminal: a process that is killed would take a full buffer
/// along.
template <std::invocable Body>
[[nodiscard]] int run_main(Body&& body) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    return static_cast<int>(body());
  } catch (Error const& error) {
    log(Level::error, error.what());
    return exit_code(error.code());
  } catch (std::exception const& error) {
    log(Level::error, "unexpected: ", error.what());
    return exit_code(Errc::internal);
  }
}

}  // namespace prdist
