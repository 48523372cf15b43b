// CTR-DNN on Criteo slot text: the program that the demo runs, as one process or as servers and workers.
//   ctr_dnn --single --train data/train --test data/test
//   prrun --server_num 2 --trainer_num 2 -- ctr_dnn --strategy sync --train data/train --test data/test
#include <prdist/fleet.hpp>

#include <CLI/CLI.hpp>

#include "models.hpp"
#include "result.hpp"
#include "settings.hpp"

int main(int argc, char** argv) {
  using namespace ctr_dnn;
  Settings settings;
  CLI::App app{
      "Trains a click model on Criteo slot text, as one process or as a member of a job.\n\n"
      "  ctr_dnn --single --train data/train --test data/test\n"
      "  prrun --server_num 2 --trainer_num 2 -- ctr_dnn --strategy sync --train data/train --test data/test\n",
      "ctr_dnn"};
  add_flags(app, settings);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  return run_main([&] {
    if (!settings.compare.empty()) return compare(settings.compare);
    if (app.count("--threads") == 0 && !settings.single) settings.threads.threads = threads_from_env().value_or(1);
    check_before(settings);
    if (settings.model == "lr") return train_lr(settings);
    if (settings.model == "deepfm") return train_deepfm(settings);
    return train_dnn(settings);
  });
}
