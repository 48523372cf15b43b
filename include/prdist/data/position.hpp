// SPDX-License-Identifier: Apache-2.0
// Where a reader stands between two batches: enough to go on with exactly the rows that were not delivered yet.
#pragma once

#include <cstdint>
#include <string>

namespace prdist {

struct DataPosition {
  std::uint64_t epoch = 0;
  std::uint64_t file = 0;       ///< files begun, in the order of the epoch; the last of them is `name`
  std::string name{};           ///< empty before the first file
  std::uint64_t file_size = 0;  ///< bytes of that file on the disk: one that has changed is noticed
  std::uint64_t offset = 0;     ///< bytes of its text that are done; unused when rows are shuffled
  std::uint64_t line = 0;       ///< lines that are done; unused when rows are shuffled
  std::uint64_t taken = 0;      ///< rows of the file that are done; used only when rows are shuffled
  std::uint64_t rows = 0;       ///< delivered in this epoch
  std::uint64_t skipped = 0;    ///< broken lines of this epoch
  std::uint64_t source = 0;     ///< stands for the list of files and the seed of their order

  friend bool operator==(DataPosition const&, DataPosition const&) = default;
};

}  // namespace prdist
