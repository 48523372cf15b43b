// SPDX-License-Identifier: Apache-2.0
// What a worker knows that no server does, because it trains a copy of its own (Geo): how it goes into a checkpoint and
// comes back.
#pragma once

#include <cstddef>
#include <functional>

namespace prdist {

class PartReader;
class PartWriter;

/// Empty for strategies whose servers know everything.
struct OwnCopy {
  std::function<void(PartWriter&)> save{};
  std::function<void(PartReader const&)> load{};
};

/// Which of the copies of `before` workers a worker goes on with when there are `now`: each is somebody's when there
/// are fewer, and somebody's twice when there are more.
[[nodiscard]] constexpr bool takes_over(std::size_t worker, std::size_t copy, std::size_t before, std::size_t now) {
  return before > now ? copy % now == worker : worker % before == copy;
}

}  // namespace prdist
