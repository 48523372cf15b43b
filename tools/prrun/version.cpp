// SPDX-License-Identifier: Apache-2.0
// prrun version: the version and what it was built with, in the form of `paddle version`.

#include <iostream>
#include <string_view>

#include <prdist/version.hpp>

#include "build_info.hpp"
#include "command_line.hpp"

namespace prrun {

namespace {

constexpr char const* description = R"(Examples:
  prrun version      the version, and a line per feature: with_avx: ON)";

}  // namespace

int run_version(Words const& words) {
  CommandLine line(description, "", "Usage: prrun version", "prrun version --help");
  Words nothing;
  if (auto const code = line.parse(words, false, nothing)) return *code;
  auto const feature = [](std::string_view name, bool on) {
    std::cout << "    with_" << name << ": " << (on ? "ON" : "OFF") << '\n';
  };
  std::cout << "prdist " << prdist::version << ", compiled with\n";
  // Kernels choose their instructions when they run, so this is about the machine.
#if defined(__x86_64__)
  feature("avx", __builtin_cpu_supports("avx2") != 0);
#else
  feature("avx", false);
#endif
  feature("gpu", build_info.cuda);
  feature("double", false);
  feature("python", false);
  feature("rdma", false);
  feature("timer", false);
  feature("blas", build_info.blas);
  feature("ssl", build_info.ssl);
  feature("debug", build_info.debug);
  return std::cout.flush() ? 0 : 74;
}

}  // namespace prrun
