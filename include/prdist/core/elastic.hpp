// SPDX-License-Identifier: Apache-2.0
// How few and how many trainers an elastic job may have: `min:max`, as PRDIST_ELASTIC and --nnodes write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct Elastic {
  std::uint32_t min = 1;  ///< with fewer the job waits a while for others, and then ends
  std::uint32_t max = 1;  ///< ids run from 0 to max - 1

  friend bool operator==(Elastic const&, Elastic const&) = default;
};

[[nodiscard]] inline std::string to_string(Elastic const& range) {
  return concat(range.min, ':', range.max);
}

/// `2:4`. The message of an error begins with what is wrong; the caller puts the name of its variable before it.
[[nodiscard]] inline Result<Elastic> elastic_from_text(std::string_view text) {
  auto const colon = text.find(':');
  Elastic range;
  if (colon == std::string_view::npos || !parse_number(text.substr(0, colon), range.min) ||
      !parse_number(text.substr(colon + 1), range.max) || range.min < 1 || range.max > 65536) {
    return Error(Errc::config_invalid, "'", text, "': two numbers from 1 to 65536 are expected, as in 2:4");
  }
  if (range.min > range.max) {
    return Error(Errc::config_invalid, "'", text, "': the first number is the smaller one, as in 2:4");
  }
  return range;
}

}  // namespace prdist
