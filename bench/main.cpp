// prbench [TEXT...]: runs the benches whose name contains one of the texts, or all; writes one JSON file per bench
// into bench/ beside the program's folder.
#define ANKERL_NANOBENCH_IMPLEMENT
#include "support.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace bench {

void Rounds::run(std::size_t rounds, std::uint64_t runs_per_round, bool warm_up) const {
  using ankerl::nanobench::Clock;
  using Measure = ankerl::nanobench::Result::Measure;
  ankerl::nanobench::Bench bench;
  bench.title(title_).unit(unit_).batch(units_).epochs(rounds).epochIterations(runs_per_round).relative(true);
  ankerl::nanobench::detail::PerformanceCounters const no_counters;
  std::vector<ankerl::nanobench::Result> timed;
  for (auto const& way : ways_) {
    bench.name(way.name);
    timed.emplace_back(bench.config());
    if (warm_up) way.work();
  }
  auto const measure = [&](std::size_t i) {
    double seconds = 0;
    for (std::uint64_t run = 0; run < runs_per_round; ++run) seconds += ways_[i].work();
    timed[i].add(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)), runs_per_round,
                 no_counters);
  };
  measure(0);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t k = 1; k < ways_.size(); ++k) {
      measure(round % 2 == 0 ? k : ways_.size() - k);
      measure(0);
    }
    if (ways_.size() == 1) measure(0);
  }

  std::printf("\n%-46s %11s %14s %6s %7s\n", title_.c_str(), "median", (unit_ + "s/s").c_str(), "err%", "ratio");
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    auto const median = timed[i].median(Measure::elapsed);
    auto const error = timed[i].medianAbsolutePercentError(Measure::elapsed) * 100;
    auto const ratio = timed[0].median(Measure::elapsed) / median;
    auto const below = ratio < ways_[i].floor;
    std::printf("  %-44s %8.3f ms %14.0f %6.1f %7.2f%s", ways_[i].name.c_str(), median * 1e3, units_ / median, error,
                ratio, error > 5 ? "  noisy" : "");
    if (ways_[i].floor > 0) std::printf("  floor %.2f %s", ways_[i].floor, below ? "NOT reached" : "reached");
    std::printf("\n");
  }
  std::fflush(stdout);
  results().insert(results().end(), timed.begin(), timed.end());
}

}  // namespace bench

int main(int argc, char** argv) {
  // BLAS makes its threads before main(), and a bench with a server in a process of its own forks; a thread per worker
  // is also what users are told to have.
  if (std::getenv("OPENBLAS_NUM_THREADS") == nullptr) {
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", argv);
  }
  std::vector<std::string_view> const wanted(argv + 1, argv + argc);
  auto const list = [](std::ostream& out) {
    for (auto const& [name, run] : bench::cases()) out << "  " << name << '\n';
  };
  if (std::find(wanted.begin(), wanted.end(), "--help") != wanted.end()) {
    std::cout << "prbench [TEXT...]: runs the benches whose name contains one of the texts, or all:\n";
    list(std::cout);
    return 0;
  }
  auto const folder = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "bench";
  std::filesystem::create_directories(folder);
  std::size_t ran = 0;
  for (auto const& [name, run] : bench::cases()) {
    auto const asked = [name = name](std::string_view text) { return name.find(text) != std::string_view::npos; };
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), asked)) continue;
    bench::results().clear();
    run();
    std::string file(name);
    std::replace(file.begin(), file.end(), '/', '_');
    std::ofstream json(folder / (file + ".json"));
    ankerl::nanobench::render(ankerl::nanobench::templates::json(), bench::results(), json);
    if (!json.flush()) {
      std::cerr << "prbench: cannot write " << (folder / (file + ".json")).string() << '\n';
      return 74;
    }
    ++ran;
  }
  if (ran == 0) {
    std::cerr << "prbench: no bench has such a name; there are:\n";
    list(std::cerr);
    return 64;
  }
}
