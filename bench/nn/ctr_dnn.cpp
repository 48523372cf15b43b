// Examples per second of the demo's model, by the programs that users run: one process, and one server with one
// worker under the launcher. With PADDLE_PYTHON naming a Python that has PaddlePaddle 2.6.2, its own parameter server
// trains the same network on the same rows beside them (paddle_ctr.py).
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support.hpp"

namespace {

namespace fs = std::filesystem;

constexpr double rows = 50'000;

std::string quoted(std::string const& word) {
  std::string text = "'";
  for (char const c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Runs a command of the shell; what it says goes to `log`.
void run_program(std::string const& command, fs::path const& log) {
  auto const status = std::system((command + " >" + quoted(log.string()) + " 2>&1").c_str());
  bench::verify(status == 0, "a program failed, see " + log.string());
}

boost::json::object read_result(fs::path const& path) {
  std::ifstream file(path);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code error;
  auto value = boost::json::parse(text, error);
  bench::verify(!error && value.is_object(), "no result in " + path.string());
  return value.get_object();
}

void run() {
  auto const bin = fs::canonical("/proc/self/exe").parent_path();
  auto const folder = bin.parent_path() / "bench" / "ctr_dnn";
  auto const data = folder / "data-50000";
  fs::create_directories(folder);
  auto const program = [&](char const* name) { return quoted((bin / name).string()); };
  if (!fs::exists(data / "meta.json")) {
    run_program(program("prdata") + " --rows 50000 --test-rows 20000 --files 4 --out " + quoted(data.string()),
                folder / "prdata.log");
  }
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);

  auto const train = [&](std::string const& how, std::string const& before, std::string const& after) {
    auto const result = folder / (how + ".json");
    return [=, &program] {
      fs::remove(result);
      run_program(before + program("ctr_dnn") + " --train " + quoted((data / "train").string()) + " --test " +
                      quoted((data / "test").string()) + " --rows 50000 --result " + quoted(result.string()) + after,
                  folder / (how + ".log"));
      auto const said = read_result(result);
      bench::verify(said.at("auc").to_number<double>() > 0.6, how + " has learnt nothing");
      return rows / said.at("examples_per_second").to_number<double>();
    };
  };
  bench::Rounds rounds("CTR-DNN, 26 slots of dim 9, batch 512, adam", "example", rows);
  auto const* const paddle = std::getenv("PADDLE_PYTHON");
  if (paddle != nullptr && std::system((quoted(paddle) + " -c 'import paddle' >/dev/null 2>&1").c_str()) == 0) {
    auto const peer = [&](std::string const& how) {
      auto const result = folder / ("paddle_" + how + ".json");
      return [=] {
        fs::remove(result);
        // It leaves files where it runs.
        run_program("cd " + quoted(folder.string()) + " && " + quoted(paddle) + " " +
                        quoted((folder.parent_path() / "paddle_ctr.py").string()) + " --mode " + how + " --data " +
                        quoted((data / "train").string()) + " --result " + quoted(result.string()),
                    folder / ("paddle_" + how + ".log"));
        return rows / read_result(result).at("examples_per_second").to_number<double>();
      };
    };
    rounds.add_timed("PaddlePaddle, async 1 x 1", peer("async")).add_timed("PaddlePaddle, one process", peer("local"));
  } else {
    std::printf("\nnn/ctr_dnn: without PaddlePaddle: PADDLE_PYTHON='%s' is no Python that has it (2.6.2)\n",
                paddle == nullptr ? "" : paddle);
  }
  rounds
      .add_timed("prdist, async 1 x 1", train("async",
                                              program("prrun") + " --server_num 1 --trainer_num 1 --log_dir " +
                                                  quoted((folder / "log").string()) + " -- ",
                                              " --strategy async"))
      .add_timed("prdist, one process", train("single", "", " --single"))
      .run(3, 1, false);  // every run is a program of its own: there is nothing to warm up
}

bench::Entry const entry{"nn/ctr_dnn", run};

}  // namespace
