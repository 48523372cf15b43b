// SPDX-License-Identifier: Apache-2.0
// What a bench needs: a place to enter its name, and a check that its result is right before it is timed.
#pragma once

#include <nanobench.h>

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

namespace bench {

struct Case {
  std::string_view name;
  void (*run)(ankerl::nanobench::Bench&);
};

/// Every case of the program, in the order of registration.
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

/// `bench::Entry const entry{"table/initializer", run};` at namespace scope enters a case.
struct Entry {
  Entry(std::string_view name, void (*run)(ankerl::nanobench::Bench&)) { cases().push_back({name, run}); }
};

/// Ends the program when a result is wrong: a fast wrong answer is no number.
inline void verify(bool right, std::string_view what) {
  if (right) return;
  std::cerr << "prbench: wrong result, not timed: " << what << '\n';
  std::exit(1);
}

}  // namespace bench
