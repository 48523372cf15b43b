// SPDX-License-Identifier: Apache-2.0
// A step that writes down what a strategy does with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <prdist/concepts/strategy.hpp>

namespace prdist::test {

struct RecordedStep final : Step {
  void pull() override { calls.emplace_back("pull"); }
  void compute() override { calls.emplace_back("compute"); }
  void push() override { calls.emplace_back("push"); }
  void settle(std::size_t most) override { calls.push_back("settle " + std::to_string(most)); }

  std::vector<std::string> calls;
};

}  // namespace prdist::test
