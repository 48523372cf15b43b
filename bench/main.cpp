// prbench [TEXT...]: runs the benches whose name contains one of the texts, or all; writes one JSON file per bench
// into bench/ beside the program's folder.
#define ANKERL_NANOBENCH_IMPLEMENT
#include "support.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  std::vector<std::string_view> const wanted(argv + 1, argv + argc);
  auto const folder = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "bench";
  std::filesystem::create_directories(folder);
  std::size_t ran = 0;
  for (auto const& [name, run] : bench::cases()) {
    auto const asked = [name = name](std::string_view text) { return name.find(text) != std::string_view::npos; };
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), asked)) continue;
    ankerl::nanobench::Bench bench;
    bench.title(std::string(name)).relative(true).warmup(1);
    run(bench);
    std::string file(name);
    std::replace(file.begin(), file.end(), '/', '_');
    std::ofstream json(folder / (file + ".json"));
    bench.render(ankerl::nanobench::templates::json(), json);
    ++ran;
  }
  if (ran == 0) {
    std::cerr << "prbench: no bench has such a name; there are:\n";
    for (auto const& [name, run] : bench::cases()) std::cerr << "  " << name << '\n';
    return 64;
  }
}
