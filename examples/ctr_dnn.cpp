// CTR-DNN on Criteo slot text: the program that the demo runs, as one process or as servers and workers.
//   ctr_dnn --single --train data/train --test data/test
//   prrun --server_num 2 --trainer_num 2 -- ctr_dnn --strategy sync --train data/train --test data/test
#include <prdist/checkpoint/directory.hpp>
#include <prdist/data.hpp>
#include <prdist/fleet.hpp>
#include <prdist/launch/progress.hpp>
#include <prdist/nn.hpp>
#include <prdist/table/entry.hpp>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace prdist;

namespace {

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
  double rate = 1e-3;
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

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// For people: as many digits as mean something.
double rounded(double value, int digits) {
  auto const scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

SlotReaderOptions reader_options(Settings const& settings) {
  SlotReaderOptions options;
  options.batch_size = settings.batch_size;
  options.skip_broken_lines = settings.skip_broken_lines;
  options.shuffle = settings.seed;
  return options;
}

/// What a worker has trained, for people and for its launcher.
struct Tally {
  std::uint64_t steps = 0;
  std::uint64_t examples = 0;
  double loss = 0;  ///< of all steps

  void add(double of_step, std::size_t rows) {
    loss += of_step;
    ++steps;
    examples += rows;
  }
  [[nodiscard]] double mean_loss() const { return loss / static_cast<double>(std::max<std::uint64_t>(1, steps)); }
  void tell(double elapsed, char const* phase, std::uint64_t total = 0) const {
    Progress progress;
    progress.step = steps;
    progress.examples = examples;
    if (total != 0) progress.total = total;
    progress.loss = mean_loss();
    progress.rate = static_cast<double>(examples) / std::max(elapsed, 1e-9);
    progress.phase = phase;
    write_progress(progress, std::chrono::steady_clock::now());
  }
};

/// Reads the worker's files, epoch after epoch, and tells its launcher how far it is.
class Training {
 public:
  Training(Settings const& settings, std::vector<std::string> files, std::uint64_t total)
      : settings_(settings), reader_(std::move(files), reader_options(settings)), total_(total) {}

  /// `train(next, told)` trains on what `next` gives, batch by batch, and tells of each.
  template <class Train>
  void run(Train&& train) {
    auto const start = now();
    double said = start;
    auto const next = [&]() -> std::optional<Batch> {
      for (Batch batch; !stopped_ && epoch_ < settings_.epochs; reader_.start_epoch(++epoch_)) {
        if (reader_.next(batch)) return batch;
      }
      return std::nullopt;
    };
    auto const told = [&](double loss, std::size_t examples) {
      tally_.add(loss, examples);
      if (auto const t = now(); t - said > 0.2) {
        said = t;
        tally_.tell(t - start, "train", total_ * settings_.epochs);
      }
    };
    train(next, told);
    seconds_ = now() - start;
    tally_.tell(seconds_, "trained", total_ * settings_.epochs);
    log(Level::info, "trained on ", tally_.examples, " examples in ", rounded(seconds_, 1),
        " s: ", static_cast<std::uint64_t>(static_cast<double>(tally_.examples) / seconds_), " examples/s, mean loss ",
        rounded(tally_.mean_loss(), 4));
  }

  /// Where it stands, for a checkpoint, and back there.
  [[nodiscard]] WorkerState state() const { return {.position = reader_.position()}; }
  void resume(WorkerState const& state) {
    reader_.resume(state.position);
    epoch_ = state.position.epoch;
  }

  /// No more batches: the job is to stop.
  void stop() { stopped_ = true; }

  [[nodiscard]] std::uint64_t examples() const { return tally_.examples; }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  Settings const& settings_;
  SlotReader reader_;
  std::uint64_t total_;
  std::size_t epoch_ = 0;
  bool stopped_ = false;
  Tally tally_;
  double seconds_ = 0;
};

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

/// AUC on the test rows by any predictor.
template <class Predict>
double evaluate(Settings const& settings, Predict&& predict) {
  auto options = reader_options(settings);
  options.shuffle.reset();
  SlotReader reader(expand_files(settings.test).value(), options);
  std::vector<float> labels, scores;
  for (auto const& batch : reader) {
    if (StopSignal::requested()) {
      throw Error(Errc::job_stopped, "asked to stop while it evaluated",
                  settings.checkpoints.directory.empty() ? "" : ": --resume evaluates what the last checkpoint holds");
    }
    std::vector<float> out(batch.size());
    predict(batch, std::span<float>(out));
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    scores.insert(scores.end(), out.begin(), out.end());
  }
  return auc(labels, scores);
}

void write_result(Settings const& settings, std::string_view how, std::string const& workers, double examples,
                  double seconds, double test_auc) {
  log(Level::info, "test AUC ", rounded(test_auc, 4));
  if (settings.result.empty()) return;
  std::ofstream file(settings.result);
  file << boost::json::serialize(boost::json::object{{"how", concat(how, workers)},
                                                     {"model", settings.model},
                                                     {"threads", settings.threads.threads},
                                                     {"examples", examples},
                                                     {"seconds", seconds},
                                                     {"examples_per_second", examples / seconds},
                                                     {"auc", test_auc}})
       << '\n';
  if (!file.flush()) throw Error(Errc::data_file, "cannot write ", settings.result);
}

/// How servers keep the rows, as the flags say it. @throws Error config.invalid
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

/// What would otherwise be noticed only after hours of training.
void check_before(Settings const& settings) {
  if (!std::isfinite(settings.rate)) throw Error(Errc::config_invalid, "--rate is not a number");
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
  auto const rows = row_policy(settings);
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

template <class Model>
int train_single(Settings const& settings, Model model) {
  Optimizer const rule = Adam{.rate = static_cast<float>(settings.rate)};
  nn::LocalTrainer trainer(std::move(model), rule, rule, settings.seed);
  Training training(settings, expand_files(settings.train).value(), settings.rows);
  training.run([&](auto& next, auto& told) {
    while (auto const batch = next()) told(trainer.step(*batch), batch->size());
  });
  write_result(settings, "one process", "", static_cast<double>(training.examples()), training.seconds(),
               evaluate(settings, [&](Batch const& batch, std::span<float> out) { trainer.predict(batch, out); }));
  return 0;
}

/// Saves what was trained. A full disk must not cost what can still be told of it: that is said now, and by the exit
/// code when all is done.
template <class Save>
int last_checkpoint(Save&& save) {
  try {
    save();
    return 0;
  } catch (Error const& error) {
    if (error.code() == Errc::job_stopped) throw;
    log(Level::error, error.what(), "; the job evaluates and exports all the same, and ends with ",
        exit_code(error.code()));
    return exit_code(error.code());
  }
}

/// A worker of a job whose workers come and go.
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

template <class TransportChoice, class StrategyChoice, class Model>
int train_fleet(Settings const& settings, StrategyChoice strategy, Model model) {
  auto options = options_from_env();
  options.seed = settings.seed;
  options.staleness.most = settings.max_staleness;
  Fleet<Strategy<StrategyChoice>, Transport<TransportChoice>> fleet{roles_from_env(), strategy, options};
  Adam const adam{.rate = static_cast<float>(settings.rate)};
  auto optimizer = fleet.distributed_optimizer(Optimizers{adam, adam, row_policy(settings)});
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

/// Results of several runs beside each other; the first file says what is possible.
int compare(std::vector<std::string> const& files) {
  auto const read = [](std::string const& path) {
    std::ifstream file(path);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    boost::system::error_code error;
    auto const value = boost::json::parse(text, error);
    if (!file || error || !value.is_object()) throw Error(Errc::data_file, path, " is not a result of this program");
    return value.get_object();
  };
  auto const number = [](boost::json::object const& object, char const* name) {
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0.0;
  };
  auto const word = [](boost::json::object const& object, char const* name) {
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string("?");
  };
  std::printf("\n%-34s %12s %8s\n", "", "examples/s", "AUC");
  for (std::size_t i = 1; i < files.size(); ++i) {
    auto const result = read(files[i]);
    std::printf("%-34s %12.0f %8.4f\n", concat(word(result, "model"), ", ", word(result, "how")).c_str(),
                number(result, "examples_per_second"), number(result, "auc"));
  }
  std::printf("%-34s %12s %8.4f\n", "possible", "", number(read(files.front()), "best_auc"));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{
      "Trains a click model on Criteo slot text, as one process or as a member of a job.\n\n"
      "  ctr_dnn --single --train data/train --test data/test\n"
      "  prrun --server_num 2 --trainer_num 2 -- ctr_dnn --strategy sync --train data/train --test data/test\n",
      "ctr_dnn"};
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
  app.add_option("--rate", settings.rate, "Learning rate of Adam")
      ->check(CLI::Range(1e-9, 10.0))
      ->capture_default_str();
  app.add_option("--seed", settings.seed)->check(CLI::Range(0.0, 9e18))->capture_default_str();
  auto const* const threads =
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
      "Checkpoints go here, on a file system that all share: at the end, on SIGTERM, and see --save_interval");
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
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  return run_main([&] {
    if (!settings.compare.empty()) return compare(settings.compare);
    if (threads->empty() && !settings.single) settings.threads.threads = threads_from_env().value_or(1);
    check_before(settings);
    if (settings.model == "lr") return train(settings, nn::LogisticRegression{});
    if (settings.model == "deepfm") return train(settings, nn::DeepFm{.dim = settings.dim});
    return train(settings, nn::CtrDnn{.dim = settings.dim, .hidden = settings.hidden});
  });
}
