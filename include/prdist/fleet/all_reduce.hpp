// SPDX-License-Identifier: Apache-2.0
// Numbers of all workers made one: losses, counts, the parts of a metric. Every worker gets the same bits, because the
// sum is taken in the order of their ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

enum class Reduce { sum, min, max };

/// Waits until every worker that has not left has come with as many numbers under the same name.
/// @throws Error config.contradiction when they bring different numbers of them
[[nodiscard]] inline std::vector<double> all_reduce(Client& client, std::string_view name,
                                                    std::span<double const> values, Reduce how = Reduce::sum) {
  auto const bytes = as_text(std::as_bytes(values));
  std::vector<double> result;
  bool first = true;
  for (auto const& [worker, text] : client.meet(name, bytes)) {
    if (text.size() != bytes.size()) {
      throw Error(Errc::config_contradiction, "all_reduce '", name, "': worker ", worker, " brings ",
                  text.size() / sizeof(double), " numbers, worker ", client.options().trainer, " ", values.size(),
                  ": give the same number everywhere");
    }
    std::vector<double> theirs(values.size());
    if (!text.empty()) std::memcpy(theirs.data(), text.data(), text.size());
    if (first) {
      result = std::move(theirs);
      first = false;
      continue;
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = how == Reduce::sum   ? result[i] + theirs[i]
                  : how == Reduce::min ? std::min(result[i], theirs[i])
                                       : std::max(result[i], theirs[i]);
    }
  }
  return result;
}

}  // namespace prdist
