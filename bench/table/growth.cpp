// Whether growth makes anybody wait: pulls of 100 keys while a table grows from one million rows to ten, beside the
// same pulls with pushes to rows that are there already. By the clock on the wall, and in time of the thread (page
// faults included), which leaves out what others do on the machine meanwhile.
#include <prdist/table/shard_group.hpp>

#include <time.h>

#include <algorithm>
#include <bitset>
#include <iostream>
#include <memory>
#include <vector>

#include "key_sets.hpp"

namespace {

using namespace prdist;

constexpr std::size_t first_rows = 1'000'000, last_rows = 10'000'000, push_keys = 1000, pull_keys = 100;
constexpr std::size_t dim = bench::row_dim;

struct Table {
  Table() {
    group.apply(DeclareSparse{1, SparseSpec{.name = "rows", .dim = dim, .optimizer = Adagrad{}}}, released);
    for (std::size_t row = 0; row < first_rows; row += push_keys) push(row);
  }
  void push(std::size_t from) {
    for (auto& key : keys) key = bench::key_of_row(from++);
    group.apply(PushRows{1, 0, 1, true, 0, keys, gradients, nullptr}, released);
    released.clear();
  }
  std::vector<Ticket> released{};
  ShardGroup group{std::bitset<shard_count>{}.set(), 1};
  std::vector<Key> keys = std::vector<Key>(push_keys);
  std::vector<float> gradients = std::vector<float>(push_keys * dim, 1.0F);
};

double milliseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Milliseconds that a pull takes when it comes right behind a push, as it does in a server's queue.
std::vector<double> latencies(bool grows, clockid_t clock) {
  auto const table = std::make_unique<Table>();
  ankerl::nanobench::Rng random(7);
  std::vector<Key> asked(pull_keys);
  std::vector<float> rows(pull_keys * dim);
  std::vector<double> times;
  for (std::size_t row = first_rows; row < last_rows; row += push_keys) {
    for (auto& key : asked) key = bench::key_of_row(random.bounded(first_rows));
    auto const start = milliseconds(clock);
    table->push(grows ? row : random.bounded(first_rows - push_keys));
    table->group.pull(1, asked, rows);
    times.push_back(milliseconds(clock) - start);
  }
  bench::verify(table->group.rows(1) == (grows ? last_rows : first_rows), "rows");
  std::sort(times.begin(), times.end());
  return times;
}

void compare(char const* name, clockid_t clock) {
  auto const control = latencies(false, clock), growing = latencies(true, clock);
  auto const at = [](std::vector<double> const& times, double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  for (double const share : {0.5, 0.99, 0.999, 1.0}) {
    std::cout << name << " p" << share * 100 << ": " << at(control, share) << " ms without growth, "
              << at(growing, share) << " ms with\n";
  }
  auto const above = at(growing, 0.999) - at(control, 0.999);
  std::cout << name << " p99.9 of a push and a pull is " << above << " ms above the control, bound 10 "
            << (above <= 10 ? "held" : "NOT held") << '\n';
}

void run() {
  compare("wall clock", CLOCK_MONOTONIC);
  compare("thread time", CLOCK_THREAD_CPUTIME_ID);
}

bench::Entry const entry{"table/growth", run};

}  // namespace
