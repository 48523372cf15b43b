// SPDX-License-Identifier: Apache-2.0
// Where a reader stands between two batches: enough to go on with exactly the rows that were not delivered yet, and
// for other readers to share them (data/deal.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prdist {

/// A file that somebody has still to read in an epoch, or the rest of one.
struct DataPiece {
  std::uint64_t epoch = 0;
  std::string name{};
  std::uint64_t number = 0;     ///< of the file in the order of its epoch, from 1: the order of its rows hangs on it
  std::uint64_t file_size = 0;  ///< as in DataPosition; 0 when the file is not begun
  std::uint64_t offset = 0;
  std::uint64_t line = 0;
  std::uint64_t taken = 0;

  friend bool operator==(DataPiece const&, DataPiece const&) = default;
};

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
  std::uint64_t source = 0;  ///< stands for the list of files and the seed of their order; 0: dealt out, not read yet

  std::optional<std::vector<std::string>> files{};  ///< that it reads in every epoch; of all readers when dealt out
  std::vector<std::uint64_t> sizes{};               ///< of each of them in bytes, 0 when not known; none: of no one
  std::optional<std::uint64_t> shuffle{};           ///< the seed
  /// Of a reader that was dealt what others had left: this and nothing else is what it has still to read up to the
  /// end of `epoch`. The fields of a file above are then unused.
  std::optional<std::vector<DataPiece>> rest{};

  friend bool operator==(DataPosition const&, DataPosition const&) = default;
};

}  // namespace prdist
