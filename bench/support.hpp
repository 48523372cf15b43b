// SPDX-License-Identifier: Apache-2.0
// What a bench needs: a place to enter its name, a check that its result is right before it is timed, and rounds in
// which the ways to do one piece of work take turns. nanobench keeps the figures and writes the JSON.
#pragma once

#include <nanobench.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

struct Case {
  std::string_view name;
  void (*run)();
};

/// Every case of the program, in the order of registration.
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

/// `bench::Entry const entry{"table/initializer", run};` at namespace scope enters a case.
struct Entry {
  Entry(std::string_view name, void (*run)()) { cases().push_back({name, run}); }
};

/// Ends the program when a result is wrong: a fast wrong answer is no number.
inline void verify(bool right, std::string_view what) {
  if (right) return;
  std::cerr << "prbench: wrong result, not timed: " << what << '\n';
  std::exit(1);
}

/// Results of the case that runs, for its JSON file.
inline std::vector<ankerl::nanobench::Result>& results() {
  static std::vector<ankerl::nanobench::Result> all;
  return all;
}

/// Several ways to do the same work, timed in turn, round by round. The first one is the baseline and is timed again
/// behind each of the others: what disturbs the machine for a while disturbs all of them alike, so the ratios hold
/// where the times do not.
class Rounds {
 public:
  /// One run does `units` of `unit`.
  Rounds(std::string title, std::string unit, double units)
      : title_(std::move(title)), unit_(std::move(unit)), units_(units) {}

  /// The first way is the baseline. A `floor` is a ratio to it that a way should not fall below.
  Rounds& add(std::string name, std::function<void()> work, double floor = 0) {
    return add_timed(
        std::move(name),
        [work = std::move(work)] {
          auto const start = ankerl::nanobench::Clock::now();
          work();
          return std::chrono::duration<double>(ankerl::nanobench::Clock::now() - start).count();
        },
        floor);
  }

  /// As add(), for work that knows better which part of it counts: it returns the seconds.
  Rounds& add_timed(std::string name, std::function<double()> work, double floor = 0) {
    ways_.push_back({std::move(name), std::move(work), floor});
    return *this;
  }

  /// Times `rounds` rounds, after one that is not counted unless `warm_up` is off, and prints a line per way: median,
  /// units per second, median deviation (err%; above 5 the line is marked as noisy), ratio of the baseline's median
  /// to it.
  void run(std::size_t rounds, std::uint64_t runs_per_round = 1, bool warm_up = true) const;

 private:
  struct Way {
    std::string name;
    std::function<double()> work;
    double floor;
  };

  std::string title_;
  std::string unit_;
  double units_;
  std::vector<Way> ways_;
};

}  // namespace bench
