// SPDX-License-Identifier: Apache-2.0
// The commands of prckpt, each in a file of its name, and what the command line may hold for any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <prdist/core/types.hpp>

namespace prckpt {

/// What the command line of any command may hold.
struct Settings {
  std::string from, to;
  std::vector<std::string> tables, variables, layers, embeddings;
  std::vector<prdist::Key> keys;
  std::string rule = "adam", optimizer, dense_optimizer, strategy = "async", precision = "fp32";
  std::size_t dim = 0, slots = 26, dense_features = 13;
  std::vector<std::size_t> hidden;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint32_t> dense_table;
  std::uint32_t day = 0, shards = 1000, servers = 1;
  std::uint64_t rows = 0;
  float beta1 = 0.9F, beta2 = 0.999F, initial_g2sum = 3, rate = 0.001F;
  bool weights_only = false, no_dense = false, statistics = false, plain = false;
};

/// Each returns the exit code. @throws prdist::Error
[[nodiscard]] int list(Settings const& settings);
[[nodiscard]] int verify_all(Settings const& settings);
[[nodiscard]] int show(Settings const& settings);
[[nodiscard]] int export_model(Settings const& settings);
[[nodiscard]] int from_paddle(Settings const& settings);
[[nodiscard]] int to_paddle(Settings const& settings, bool rule_given);
[[nodiscard]] int from_v2(Settings const& settings);
[[nodiscard]] int to_v2(Settings const& settings);

}  // namespace prckpt
