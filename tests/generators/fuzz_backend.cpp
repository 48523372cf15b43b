// SPDX-License-Identifier: Apache-2.0
// The fuzzer's entry point, for clang's -fsanitize=fuzzer (option PRDIST_BUILD_FUZZERS). fuzz.cpp holds the same
// promises with a fixed seed in every test run.
#include "fuzz_backend.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const broken = prdist::gen::test::broken_promise(std::string(reinterpret_cast<char const*>(data), size));
  if (!broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
