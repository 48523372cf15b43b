// SPDX-License-Identifier: Apache-2.0
// A gathered step of all threads of a trainer on one batch: it is cut into parts, a lane for each, and their gradients
// are added in the order of the parts. How many threads share the parts does not change a bit of the result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/concepts/strategy.hpp>
#include <prdist/fleet/flight.hpp>
#include <prdist/fleet/trainer_lane.hpp>
#include <prdist/trainer/team.hpp>

namespace prdist {

template <device_policy DeviceChoice, class Model, class Batch>
class SplitStep final : public Step {
 public:
  using Lanes = std::span<std::unique_ptr<TrainerLane<DeviceChoice>> const>;

  /// A part for every lane; thread i of `team` computes with models[i]. `check` is given the loss before anything is
  /// pushed, and may throw. All must outlive the step.
  SplitStep(Lanes lanes, Team& team, std::span<Model> models, Batch const& batch, std::function<void(double)> check)
      : lanes_(lanes), team_(team), models_(models), batch_(batch), check_(std::move(check)), losses_(lanes.size()) {
    for (std::size_t part = 0; part < lanes.size(); ++part) {
      auto const first = batch.size() * part / lanes.size();
      slices_.push_back(batch.slice(first, batch.size() * (part + 1) / lanes.size() - first));
    }
  }

  void pull() override {
    each_part([&](std::size_t part, Model& model) {
      lanes_[part]->open(model, slices_[part]);
      lanes_[part]->pull(part == 0);
    });
  }
  void ask_ahead() override {}
  void compute() override {
    auto const dense = lanes_[0]->dense_view();
    each_part(
        [&](std::size_t part, Model& model) { losses_[part] = lanes_[part]->compute(model, slices_[part], dense); });
    for (std::size_t part = 0; part < slices_.size(); ++part) {
      loss += losses_[part] * static_cast<double>(slices_[part].size()) /
              static_cast<double>(std::max<std::size_t>(1, batch_.size()));
    }
    check_(loss);
  }
  /// At once: the servers wait for every step of everybody.
  void push(std::size_t) override {
    std::vector<Flight<DeviceChoice>*> parts;
    for (auto const& lane : lanes_) parts.push_back(&lane->gradients());
    lanes_[0]->push_merged(parts);
  }
  void settle(std::size_t most) override { lanes_[0]->settle(most); }
  void meet() override {
    push(1);
    settle(0);
  }
  // In a gathered step nobody is ahead of anybody, and no trainer has a copy of its own.
  void tick(std::uint64_t) override {}
  void learn() override {}
  void exchange(std::size_t) override {}

  double loss = 0;  ///< of the batch, its mean, after compute()

 private:
  template <class Work>
  void each_part(Work const& work) {
    team_.run([&](std::size_t thread) {
      for (auto part = thread; part < slices_.size(); part += models_.size()) work(part, models_[thread]);
    });
  }

  Lanes lanes_;
  Team& team_;
  std::span<Model> models_;
  Batch const& batch_;
  std::function<void(double)> check_;
  std::vector<Batch> slices_;
  std::vector<double> losses_;
};

}  // namespace prdist
