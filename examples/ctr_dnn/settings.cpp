// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <prdist/checkpoint/directory.hpp>
#include <prdist/data.hpp>
#include <prdist/optim/optimizer_text.hpp>
#include <prdist/table/entry.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ctr_dnn {

namespace {

/// What is wrong with a flag is a matter of the command line: exit code 64, before anything else is looked at.
template <class Read>
CLI::Validator readable(Read read) {
  return {[read](std::string const& text) {
            auto const result = read(text);
            return result ? std::string() : std::string(result.error().message());
          },
          "", "TEXT"};
}

RowPolicy row_policy(Settings const& settings) {
  auto const chosen = [](std::string_view name, auto first, auto... others) {
    ((name_of(others) == name ? void(first = others) : void()), ...);
    return first;
  };
  RowPolicy policy;
  policy.precision = chosen(settings.precision, Precision::fp32, Precision::bf16, Precision::fp16);
  auto const entry = entry_from_text(settings.entry).value();
  policy.admission = entry.admission;
  policy.eviction = chosen(settings.eviction, Eviction::none, Eviction::lru, Eviction::score);
  policy.statistics.kept = !entry.show.empty() || policy.eviction == Eviction::score;
  return policy;
}

}  // namespace

void add_flags(CLI::App& app, Settings& settings) {
  auto const optimizer = readable([](auto const& text) { return optimizer_from_text(text); });
  auto const schedule = readable([](auto const& text) { return schedule_from_text(text); });
  app.add_option("--train", settings.train, "Folder, file or pattern of the training rows")->capture_default_str();
  app.add_option("--test", settings.test, "Folder, file or pattern of the test rows")->capture_default_str();
  app.add_option("--strategy", settings.strategy)
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(strategy_names), std::end(strategy_names))))
      ->capture_default_str();
  app.add_option("--transport", settings.transport)->check(CLI::IsMember({"beast", "tcp"}))->capture_default_str();
  app.add_option("--model", settings.model, "dnn, deepfm, or lr: logistic regression")
      ->check(CLI::IsMember({"dnn", "deepfm", "lr"}))
      ->capture_default_str();
  app.add_option("--dim", settings.dim, "Floats of an embedding")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--hidden", settings.hidden, "Sizes of the dense layers")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--batch_size", settings.batch_size)->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--epochs", settings.epochs)->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option(
         "--optimizer", settings.optimizer,
         "How embeddings learn: sgd, momentum, adagrad, row_adagrad, adam, shared_adam, ftrl, rmsprop, adadelta "
         "or lamb, with numbers as in adagrad:rate=0.05,l2=1e-5")
      ->check(optimizer)
      ->capture_default_str();
  app.add_option("--dense_optimizer", settings.dense_optimizer, "How the dense layers do; as --optimizer without it")
      ->check(optimizer);
  app.add_option("--schedule", settings.schedule,
                 "How the rates change with the updates of a row: constant, step, exponential, inverse_time, "
                 "polynomial, cosine or piecewise, as in "
                 "cosine:steps=100000,warmup=1000")
      ->check(schedule)
      ->capture_default_str();
  app.add_option("--dense_schedule", settings.dense_schedule,
                 "How those of the dense layers do; as --schedule without it")
      ->check(schedule);
  app.add_option("--rate", settings.rate, "Learning rate of an optimizer that gives none; else its own, 0.001 of adam")
      ->check(CLI::Range(1e-9, 10.0))
      ->check(readable([](auto const& text) { return optimizer_from_text(concat("sgd:rate=", text)); }));
  app.add_option("--seed", settings.seed)->check(CLI::Range(0.0, 9e18))->capture_default_str();
  app.add_option("--threads", settings.threads.threads, "Threads of a worker; without it CPU_NUM, else 1")
      ->check(CLI::Range(1, 1024));
  app.add_option("--micro_batches", settings.threads.micro_batches, "sync: parts of a batch that threads share")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--send_queue_size", settings.numbers.send_queue_size, "async: pushes that may be under way")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--max_merge_var_num", settings.numbers.max_merge_var_num,
                 "async: waiting pushes that leave as one; at most send_queue_size + 1 do")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--staleness", settings.numbers.staleness, "ssp: steps that the fastest may be ahead of the slowest")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--push_interval,--k_steps", settings.numbers.push_interval, "geo: steps between two exchanges")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--precision", settings.precision, "How servers keep embeddings")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->capture_default_str();
  app.add_option("--entry", settings.entry,
                 "Which keys get a row: none (all), count_filter_entry:N, bloom_filter_entry:N, probability_entry:P")
      ->check(readable([](auto const& text) { return entry_from_text(text); }))
      ->capture_default_str();
  app.add_option("--eviction", settings.eviction, "Which rows go when PRDIST_SERVER_MEMORY_MB leaves no room")
      ->check(CLI::IsMember({"none", "lru", "score"}))
      ->capture_default_str();
  app.add_option("--max_staleness", settings.max_staleness, "Drop pushes that so many others have overtaken")
      ->check(CLI::Range(0, 1000000000));
  app.add_option("--rows", settings.rows, "Training rows of all workers, when known: for progress")
      ->check(CLI::Range(0.0, 1e15));
  app.add_option("--result", settings.result, "Write examples/s and AUC to this file, as JSON");
  app.add_option(
         "--save_dir", settings.checkpoints.directory,
         "Checkpoints go here, on a file system that all share: at the end, on SIGTERM, and see --save_interval")
      ->check([](std::string const& folder) { return folder.empty() ? "it is empty: give a folder" : ""; }, "FOLDER");
  app.add_option("--save_interval", settings.checkpoints.every,
                 "Steps between two checkpoints, of the worker that is fastest; 0: none on the way")
      ->check(CLI::Range(0.0, 1e15))
      ->capture_default_str();
  app.add_option("--save_keep", settings.checkpoints.keep, "Newest checkpoints that stay")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--save_full_every", settings.checkpoints.full_every,
                 "Every so many hold all rows, the others what has changed")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_flag("--resume", settings.resume, "Go on from the newest checkpoint in --save_dir, when there is one");
  app.add_option("--export", settings.export_path, "Write the trained model to this .npz file");
  app.add_option("--compare", settings.compare, "Print results beside each other: meta.json, then --result files");
  app.add_flag("--single", settings.single, "Train in this process, without servers");
  app.add_flag("--skip_broken_lines", settings.skip_broken_lines, "Count lines that cannot be read, and go on");
}

Optimizers optimizers_of(Settings const& settings) {
  auto const read = [&](std::string const& text, std::string const& schedule) {
    auto optimizer = optimizer_from_text(text, settings.rate).value();
    optimizer.schedule = schedule_from_text(schedule).value();
    return optimizer;
  };
  auto const or_else = [](std::string const& dense, std::string const& sparse) {
    return dense.empty() ? sparse : dense;
  };
  return {.sparse = read(settings.optimizer, settings.schedule),
          .dense = read(or_else(settings.dense_optimizer, settings.optimizer),
                        or_else(settings.dense_schedule, settings.schedule)),
          .rows = row_policy(settings)};
}

void check_before(Settings const& settings) {
  (void)expand_files(settings.test).value();
  if (!settings.result.empty() && !std::ofstream(settings.result, std::ios::app)) {
    throw Error(Errc::data_file, "cannot write ", settings.result);
  }
  if (std::filesystem::path const path(settings.export_path); !path.empty()) {
    // Without making it: all members look, and one of them may be through already.
    auto const folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    bool const replaceable = !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
    if (!replaceable || ::access(folder.c_str(), W_OK) != 0) {
      throw Error(Errc::data_file, "cannot write --export ", settings.export_path);
    }
  }
  auto const& directory = settings.checkpoints.directory;
  auto const rows = optimizers_of(settings).rows;
  if (settings.single && (rows != RowPolicy{} || settings.max_staleness != StalenessBound::none)) {
    throw Error(Errc::config_contradiction,
                "--precision, --entry, --eviction or --max_staleness with --single: they are for servers, and there "
                "are none");
  }
  if (settings.single && !settings.export_path.empty()) {
    throw Error(Errc::config_contradiction,
                "--export with --single: servers hold what is exported, and there are none");
  }
  if (directory.empty()) {
    if (settings.checkpoints.every != 0) throw Error(Errc::config_contradiction, "--save_interval needs --save_dir");
    if (settings.resume)
      throw Error(Errc::config_contradiction, "--resume needs --save_dir, where the checkpoints are");
    return;
  }
  if (settings.single) {
    throw Error(Errc::config_contradiction, "--save_dir with --single: servers write checkpoints, and there are none");
  }
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw Error(Errc::data_file, "cannot make the folder ", directory, ": ", failed.message());
  // Another job's checkpoints would be counted, and removed, as if they were this one's.
  // (In an elastic job they may be its own: there it is looked at when the job begins.)
  if (auto const passes = passes_in(directory);
      !settings.resume && !passes.empty() && !process_environment("PRDIST_ELASTIC")) {
    throw Error(Errc::config_contradiction, "--save_dir ", directory, " holds checkpoints up to ",
                pass_name(passes.back()), ": go on from them with --resume, or give another folder");
  }
}

SlotReaderOptions reader_options(Settings const& settings) {
  SlotReaderOptions options;
  options.batch_size = settings.batch_size;
  options.skip_broken_lines = settings.skip_broken_lines;
  options.shuffle = settings.seed;
  return options;
}

}  // namespace ctr_dnn
