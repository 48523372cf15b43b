// SPDX-License-Identifier: Apache-2.0
// How far a server is with long work, such as writing its part of a checkpoint: the answer to Kind::work_state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

struct WorkState {
  std::string what{};
  bool done = true;
  std::uint64_t rows = 0;         ///< that are through: it grows as long as the work goes on
  std::string result{};           ///< JSON, when it is done
  std::optional<Error> failed{};  ///< instead of a result
  bool waits_for_disk = false;    ///< all rows are through, and the disk takes its time
};

[[nodiscard]] std::string to_json(WorkState const& state);

/// `from` is who said it, for the message. @throws Error wire.message
[[nodiscard]] WorkState work_state_from_json(std::string_view text, std::string_view from);

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/wire/work_state.ipp>
#endif
