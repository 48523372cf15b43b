// SPDX-License-Identifier: Apache-2.0
// prrun: starts parameter-server jobs.
#include "commands.hpp"

int main(int argc, char** argv) {
  return prrun::run_command_line({argv + 1, argv + argc});
}
