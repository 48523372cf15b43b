// SPDX-License-Identifier: Apache-2.0
// What is said of a step from which nothing is to be learned.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include <prdist/core/error.hpp>

namespace prdist {

/// What to do about it.
inline constexpr std::string_view diverged_way_out =
    "take a smaller learning rate, look at the data for numbers that are far too large, and go on from the last "
    "checkpoint";

/// What is no number has no sign that would tell anybody anything.
[[nodiscard]] inline double without_sign_of_nan(double value) {
  return std::isnan(value) ? std::fabs(value) : value;
}

/// To be called between a step's gradients and their use. `who` took the step, the `step`-th from 1.
/// @throws Error job.diverged when the loss is infinite or no number
inline void check_loss(std::string_view who, std::uint64_t step, double loss) {
  if (std::isfinite(loss)) return;
  throw Error(Errc::job_diverged, who, ", step ", step, ": the loss is ", without_sign_of_nan(loss),
              ", so nothing of this step was learned: ", diverged_way_out);
}

}  // namespace prdist
