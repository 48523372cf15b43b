// What ten million rows of dim 16 with Adagrad take, growth included, over what they hold: 8 bytes of key, 64 of
// weights and 64 of state. In a child, so that nothing else of this program is counted.
#include <prdist/table/shard_group.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bitset>
#include <iostream>
#include <vector>

#include "key_sets.hpp"

namespace {

using namespace prdist;

constexpr std::size_t most_rows = 10'000'000;
constexpr std::size_t dim = bench::row_dim;
constexpr double payload_per_row = sizeof(Key) + 2 * dim * sizeof(float);

std::size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

/// Grows a table and reports its peak; the exit code says whether it stayed within bounds.
int grow() {
  std::vector<Ticket> released;
  ShardGroup group(std::bitset<shard_count>{}.set(), 1);
  group.apply(DeclareSparse{1, SparseSpec{.name = "rows", .dim = dim, .optimizer = Adagrad{}}}, released);
  std::vector<Key> keys(1000);
  std::vector<float> const gradients(keys.size() * dim, 1.0F);
  auto const before = peak_bytes();
  double worst = 0;
  for (std::size_t row = 0; row < most_rows;) {
    for (auto& key : keys) key = bench::key_of_row(row++);
    group.apply(PushRows{1, 0, 1, true, 0, keys, gradients, nullptr}, released);
    released.clear();
    if (row % (most_rows / 10) != 0) continue;
    auto const ratio = static_cast<double>(peak_bytes() - before) / (static_cast<double>(row) * payload_per_row);
    worst = std::max(worst, ratio);
    std::cout << row << " rows: peak / payload " << ratio << ", taken from the system "
              << static_cast<double>(group.bytes()) / (static_cast<double>(row) * payload_per_row) << '\n';
  }
  auto const last = static_cast<double>(peak_bytes() - before) / (most_rows * payload_per_row);
  std::cout << "at " << most_rows << " rows " << last << " (bound 1.25), worst on the way " << worst << std::endl;
  return last <= 1.25 ? 0 : 1;
}

void run() {
  std::cout << std::flush;
  auto const child = fork();
  if (child == 0) _exit(grow());
  int status = 0;
  waitpid(child, &status, 0);
  bench::verify(WIFEXITED(status) && WEXITSTATUS(status) == 0, "memory of ten million rows is out of bounds");
}

bench::Entry const entry{"table/memory", run};

}  // namespace
