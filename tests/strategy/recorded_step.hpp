// SPDX-License-Identifier: Apache-2.0
// A step that writes down what a strategy does with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <prdist/concepts/strategy.hpp>

namespace prdist::test {

struct RecordedStep final : Step {
  void pull() override { calls.emplace_back("pull"); }
  void ask_ahead() override { calls.emplace_back("ask ahead"); }
  void compute() override { calls.emplace_back("compute"); }
  void push(std::size_t merge) override { calls.push_back("push " + std::to_string(merge)); }
  void settle(std::size_t most) override { calls.push_back("settle " + std::to_string(most)); }
  void meet() override { calls.emplace_back("meet"); }
  void tick(std::uint64_t ahead) override { calls.push_back("tick " + std::to_string(ahead)); }
  void learn() override { calls.emplace_back("learn"); }
  void exchange(std::size_t interval) override { calls.push_back("exchange " + std::to_string(interval)); }

  std::vector<std::string> calls;
};

}  // namespace prdist::test
