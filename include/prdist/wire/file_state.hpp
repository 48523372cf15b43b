// SPDX-License-Identifier: Apache-2.0
// The data files that server 0 hands out: which list, and how far it is. A task is one file in one epoch; tasks are
// numbered through all epochs, so that a few numbers say it all however many files there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

/// What every trainer must agree on.
struct FileList {
  std::uint64_t files = 0;
  std::uint64_t source = 0;  ///< stands for their names and their order
  std::uint32_t epochs = 1;

  [[nodiscard]] std::uint64_t tasks() const noexcept { return files * epochs; }

  friend bool operator==(FileList const&, FileList const&) = default;
};

/// Every task below `next` is done, but those that are open.
struct FileState {
  FileList list{};
  std::uint64_t next = 0;
  std::vector<std::uint64_t> open{};  ///< ascending
  std::uint64_t rows = 0;             ///< of the files done since the job began or was resumed, as trainers say

  friend bool operator==(FileState const&, FileState const&) = default;
};

[[nodiscard]] std::string to_json(FileState const& state);

/// `from` is who said it, for the message. @throws Error wire.message
[[nodiscard]] FileState file_state_from_json(std::string_view text, std::string_view from);

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/wire/file_state.ipp>
#endif
