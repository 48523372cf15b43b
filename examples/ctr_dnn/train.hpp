// SPDX-License-Identifier: Apache-2.0
// One model, trained as the settings say: by this process alone, or as a member of a job.
#pragma once

#include <prdist/data.hpp>
#include <prdist/fleet.hpp>
#include <prdist/nn.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elastic_training.hpp"
#include "figures.hpp"
#include "result.hpp"
#include "settings.hpp"
#include "training.hpp"

namespace ctr_dnn {

template <class Model>
int train_single(Settings const& settings, Model model) {
  auto const optimizers = optimizers_of(settings);
  nn::LocalTrainer trainer(std::move(model), optimizers.sparse, optimizers.dense, settings.seed);
  Training training(settings, expand_files(settings.train).value(), settings.rows);
  training.run([&](auto& next, auto& told) {
    while (auto const batch = next()) told(trainer.step(*batch), batch->size());
  });
  write_result(settings, "one process", "", static_cast<double>(training.examples()), training.seconds(),
               evaluate(settings, [&](Batch const& batch, std::span<float> out) { trainer.predict(batch, out); }));
  return 0;
}

template <class TransportChoice, class StrategyChoice, class Model>
int train_fleet(Settings const& settings, StrategyChoice strategy, Model model) {
  auto options = options_from_env();
  options.seed = settings.seed;
  options.staleness.most = settings.max_staleness;
  Fleet<Strategy<StrategyChoice>, Transport<TransportChoice>> fleet{roles_from_env(), strategy, options};
  auto optimizer = fleet.distributed_optimizer(optimizers_of(settings));
  // SIGTERM is a question between two steps when there is a place to save to, and the end otherwise.
  std::optional<StopSignal> stop_signal;
  // A worker of an elastic job leaves when it is asked to, and gives back what it has in hand.
  if (!settings.checkpoints.directory.empty() || fleet.roles().elastic) stop_signal.emplace();
  if (fleet.is_server()) {
    fleet.init_server();
    return fleet.run_server();
  }
  if constexpr (requires { StrategyChoice::elastic; }) {
    if (fleet.roles().elastic) return train_elastic(settings, fleet, optimizer, std::move(model));
  }
  auto const& roles = fleet.roles();
  auto const list = expand_files(settings.train).value();
  // A job that goes on takes the workers that are there; one that begins with idle ones is a mistake.
  auto const refuse_idle_workers = [&] {
    if (list.size() >= roles.workers) return;
    throw Error(Errc::config_contradiction, settings.train, " has ", list.size(), " files for ", roles.workers,
                " workers, so ", roles.workers - list.size(),
                " of them have none of their own: split the files, or start fewer workers");
  };
  if (!settings.resume) refuse_idle_workers();
  fleet.init_worker();
  optimizer.prepare(model);
  Training training(settings, fleet.split_files(list), settings.rows / roles.workers);
  auto threads = settings.threads;
  std::unique_ptr<Checkpointer> checkpoints;
  bool stopped = false;
  if (!settings.checkpoints.directory.empty()) {
    checkpoints.reset(new Checkpointer(fleet.checkpointer(optimizer, settings.checkpoints)));
    if (settings.resume) {
      if (auto const state = checkpoints->resume()) {
        training.resume(*state);
      } else {
        refuse_idle_workers();
      }
    }
    threads.pause_due = [&] { return checkpoints->due(); };
    threads.pause = [&] {
      stopped = checkpoints->meet(training.state()) == Next::stop;
      if (stopped) training.stop();
    };
  }
  fleet.barrier("start");
  auto const start = now();
  training.run([&](auto& next, auto& told) {
    auto const stepped = [&](double loss, std::size_t examples) {
      if (checkpoints) checkpoints->stepped();
      told(loss, examples);
    };
    optimizer.train(model, next, stepped, threads);
  });
  if (stopped) {
    fleet.stop_worker();
    return StopSignal::exit_code();
  }
  // Files may be uneven: who has finished must not keep the others waiting in a step.
  checkpoints ? checkpoints->finish(training.state()) : optimizer.finish();
  if (auto const stale = optimizer.staleness(); stale->count() != 0) {
    log(Level::info, "staleness of its pushes: mean ", rounded(stale->mean(), 2), ", at most ", stale->most());
  }
  fleet.barrier("trained");
  if (checkpoints && checkpoints->stopped()) {
    fleet.stop_worker();
    return StopSignal::exit_code();
  }
  int const lost = checkpoints ? last_checkpoint([&] { checkpoints->save(training.state()); }) : 0;
  int code = lost;
  try {
    auto const seconds = now() - start;
    std::vector<double> const own{static_cast<double>(training.examples())};
    auto const examples = fleet.all_reduce(own, Reduce::sum, "examples")[0];
    if (fleet.is_first_worker()) {
      write_result(
          settings, StrategyChoice::name, concat(", ", roles.servers.size(), " servers, ", roles.workers, " workers"),
          examples, seconds,
          evaluate(settings, [&](Batch const& batch, std::span<float> out) { optimizer.predict(model, batch, out); }));
      if (!settings.export_path.empty()) fleet.save_inference_model(settings.export_path);
    }
  } catch (Error const& error) {
    if (error.code() != Errc::job_stopped) throw;
    log(Level::info, error.message());
    if (code == 0) code = StopSignal::exit_code();
  }
  // A launcher that sees the first one fail ends the others, who may be at the result yet.
  if (lost != 0) fleet.barrier("the result is there");
  code == lost ? fleet.stop_worker() : fleet.leave_worker();
  return code;
}

template <class Model>
int train(Settings const& settings, Model model) {
  if (settings.single) return train_single(settings, std::move(model));
  return with_strategy(settings.strategy, settings.numbers, [&](auto strategy) {
    return settings.transport == "tcp" ? train_fleet<Tcp>(settings, strategy, std::move(model))
                                       : train_fleet<Beast>(settings, strategy, std::move(model));
  });
}

}  // namespace ctr_dnn
