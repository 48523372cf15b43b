// SPDX-License-Identifier: Apache-2.0
// What ctr_dnn is told on its command line.
#pragma once

#include <prdist/data.hpp>
#include <prdist/fleet.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ctr_dnn {

using namespace prdist;

struct Settings {
  std::string train = "data/train";
  std::string test = "data/test";
  std::string strategy = "async";
  std::string transport = "beast";
  std::string model = "dnn";
  std::string result;
  std::string export_path;
  CheckpointOptions checkpoints;
  bool resume = false;
  std::vector<std::string> compare;
  std::size_t dim = 9;
  std::size_t batch_size = 512;
  std::size_t epochs = 1;
  std::vector<std::size_t> hidden = {400, 400, 400};
  std::string optimizer = "adam";
  std::string dense_optimizer;
  std::string schedule = "constant";
  std::string dense_schedule;
  std::optional<float> rate;
  std::uint64_t seed = 1;
  std::uint64_t rows = 0;
  StrategyNumbers numbers;
  TrainOptions threads;
  std::string precision = "fp32";
  std::string entry = "none";
  std::string eviction = "none";
  std::uint32_t max_staleness = StalenessBound::none;
  bool single = false;
  bool skip_broken_lines = false;
};

/// The flags, each with its help; they write to `settings`, which must live as long as `app`.
void add_flags(CLI::App& app, Settings& settings);

/// How the weights learn and how servers keep the rows. @throws Error config.invalid
[[nodiscard]] Optimizers optimizers_of(Settings const& settings);

/// Looks for what would otherwise be noticed only after hours of training. @throws Error
void check_before(Settings const& settings);

/// How rows are read: batches of the settings' size, shuffled by their seed.
[[nodiscard]] SlotReaderOptions reader_options(Settings const& settings);

}  // namespace ctr_dnn
