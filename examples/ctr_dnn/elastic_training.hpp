// SPDX-License-Identifier: Apache-2.0
// A worker of a job whose workers come and go.
#pragma once

#include <prdist/data.hpp>
#include <prdist/fleet.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "figures.hpp"
#include "result.hpp"
#include "settings.hpp"
#include "training.hpp"

namespace ctr_dnn {

/// Reads the files that the servers hand out, until all are done or the worker is to leave.
class ElasticTraining {
 public:
  /// `checkpoints` may be null.
  ElasticTraining(Settings const& settings, DispatchedFiles& files, ElasticCheckpoints* checkpoints)
      : settings_(settings), files_(files), checkpoints_(checkpoints), start_(now()), said_(start_) {}

  /// Between files and for checkpoints all threads pause, when what they have learned is on the servers.
  void arrange(TrainOptions& options) {
    options.pause_due = [this] {
      if (leaves_) return false;
      return file_ended_ || (checkpoints_ != nullptr && checkpoints_->due()) || files_.stop_wanted();
    };
    options.pause = [this] { pause(); };
    options.more = [this]() -> std::optional<Duration> {
      if (leaves_ || files_.over()) return std::nullopt;
      return file_ended_ ? Duration{0} : DispatchedFiles::ask_again;
    };
  }

  [[nodiscard]] std::optional<Batch> next() {
    if (leaves_ || file_ended_) return std::nullopt;
    if (!reader_ && !open()) return std::nullopt;
    Batch batch;
    if (reader_->next(batch)) return batch;
    file_ended_ = true;
    return std::nullopt;
  }

  void told(double loss, std::size_t examples) {
    if (checkpoints_ != nullptr) checkpoints_->stepped();
    tally_.add(loss, examples);
    if (auto const t = now(); t - said_ > 0.2) {
      said_ = t;
      tally_.tell(seconds(), "train");
    }
  }

  void end() {
    tally_.tell(seconds(), "trained");
    log(Level::info, "trained on ", tally_.examples, " examples in ", rounded(seconds(), 1), " s, mean loss ",
        rounded(tally_.mean_loss(), 4));
  }

  [[nodiscard]] double seconds() const { return now() - start_; }

 private:
  [[nodiscard]] bool open() {
    file_ = files_.next();
    if (!file_) return false;
    reader_.emplace(std::vector{file_->name}, reader_options(settings_));
    reader_->start_epoch(file_->epoch);
    return true;
  }

  void pause() {
    if (file_ended_) {
      files_.done(*file_, reader_->counts().rows);
      file_ended_ = false;
      reader_.reset();
    }
    if (files_.stop_wanted()) {
      leaves_ = true;
    } else if (checkpoints_ != nullptr && checkpoints_->due()) {
      checkpoints_->save();
    }
  }

  Settings const& settings_;
  DispatchedFiles& files_;
  ElasticCheckpoints* checkpoints_;
  std::optional<DispatchedFile> file_;
  std::optional<SlotReader> reader_;
  bool file_ended_ = false;
  bool leaves_ = false;
  double start_, said_;
  Tally tally_;
};

template <class FleetOf, class OptimizerOf, class Model>
int train_elastic(Settings const& settings, FleetOf& fleet, OptimizerOf& optimizer, Model model) {
  auto const list = expand_files(settings.train).value();
  fleet.init_worker();
  optimizer.prepare(model);
  std::optional<ElasticCheckpoints> checkpoints;
  if (!settings.checkpoints.directory.empty()) {
    checkpoints.emplace(fleet.elastic_checkpoints(settings.checkpoints));
    checkpoints->begin(settings.resume);
  }
  auto files =
      fleet.dispatched_files(list, {.epochs = static_cast<std::uint32_t>(settings.epochs), .shuffle = settings.seed});
  ElasticTraining training(settings, files, checkpoints ? &*checkpoints : nullptr);
  auto threads = settings.threads;
  training.arrange(threads);
  optimizer.train(
      model, [&] { return training.next(); }, [&](double loss, std::size_t examples) { training.told(loss, examples); },
      threads);
  training.end();
  if (!files.over()) {
    // All of the job ends, or this worker alone: then nobody needs a checkpoint.
    if (checkpoints && checkpoints->job_ends()) {
      fleet.once("the last checkpoint", [&] {
        checkpoints->save_last();
        return std::string();
      });
    }
    if (checkpoints) checkpoints->wait();
    fleet.leave_worker();
    log(Level::info, "worker ", fleet.worker_index(), " leaves the job before the end of the data");
    return StopSignal::exit_code();
  }
  auto const lost = fleet.once("the result", [&] {
    int const code = checkpoints ? last_checkpoint([&] { checkpoints->save_last(); }) : 0;
    auto const rows = static_cast<double>(files.rows());
    write_result(settings, FleetOf::StrategyChoice::name,
                 concat(", ", fleet.server_num(), " servers, ", to_string(*fleet.roles().elastic), " workers"), rows,
                 training.seconds(), evaluate(settings, [&](Batch const& batch, std::span<float> out) {
                   optimizer.predict(model, batch, out);
                 }));
    if (!settings.export_path.empty()) fleet.save_inference_model(settings.export_path);
    return code == 0 ? std::string() : concat(code);
  });
  if (checkpoints) checkpoints->wait();
  fleet.stop_worker();
  return lost.empty() ? 0 : exit_code(Errc::checkpoint_file);
}

}  // namespace ctr_dnn
