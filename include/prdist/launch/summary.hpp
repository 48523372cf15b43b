// SPDX-License-Identifier: Apache-2.0
// The progress of all trainers as one line.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include <prdist/core/text.hpp>
#include <prdist/launch/progress.hpp>

namespace prdist {

/// One trainer's last word, if it has said any, and whether it still runs.
struct TrainerProgress {
  std::optional<Progress> last;
  bool running = true;
};

namespace detail {

/// 1234567 as "1,234,567".
[[nodiscard]] inline std::string grouped(std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > 0; place -= 3) {
    text.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return text;
}

/// "0:09", "12:34" or "1:02:03".
[[nodiscard]] inline std::string clock_text(std::uint64_t seconds) {
  char text[64];
  auto const minutes = static_cast<unsigned long long>(seconds / 60);
  auto const rest = static_cast<unsigned long long>(seconds % 60);
  if (minutes < 60) {
    std::snprintf(text, sizeof text, "%llu:%02llu", minutes, rest);
  } else {
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", minutes / 60, minutes % 60, rest);
  }
  return text;
}

}  // namespace detail

/// Such as "61% 614,400/1,000,000 examples, 42,068 examples/s, loss 0.4512, eta 0:09": examples and rates are summed
/// over trainers, the loss is their mean. A trainer that gives no rate counts with its mean since the start. Empty
/// when no trainer has said anything.
[[nodiscard]] inline std::string summary_of(std::span<TrainerProgress const> trainers,
                                            std::chrono::duration<double> elapsed) {
  std::uint64_t examples = 0;
  std::uint64_t total = 0;
  bool all_totals = true;
  double rate = 0;
  double loss = 0;
  std::size_t losses = 0;
  bool any = false;
  for (auto const& [last, running] : trainers) {
    if (!last || !last->total) all_totals = false;
    if (!last) continue;
    any = true;
    examples += last->examples.value_or(0);
    total += last->total.value_or(0);
    if (running && last->rate) rate += std::max(0.0, *last->rate);
    if (running && !last->rate && elapsed.count() > 0) {
      rate += static_cast<double>(last->examples.value_or(0)) / elapsed.count();
    }
    if (last->loss) {
      loss += *last->loss;
      ++losses;
    }
  }
  if (!any) return {};
  std::string text;
  auto const put = [&](std::string const& part) { text += (text.empty() ? "" : ", ") + part; };
  // A percentage of a part of the data would mislead.
  if (all_totals && total > 0) {
    auto const percent =
        static_cast<unsigned>(100.0 * static_cast<double>(std::min(examples, total)) / static_cast<double>(total));
    put(concat(percent, "% ", detail::grouped(examples), '/', detail::grouped(total), " examples"));
  } else if (examples > 0) {
    put(concat(detail::grouped(examples), " examples"));
  }
  if (std::isfinite(rate) && rate >= 1 && rate < 1e18) {
    put(concat(detail::grouped(static_cast<std::uint64_t>(rate)), " examples/s"));
  }
  if (losses > 0) {
    char number[64];
    std::snprintf(number, sizeof number, "loss %.4f", loss / static_cast<double>(losses));
    put(number);
  }
  if (all_totals && total > examples && std::isfinite(rate) && rate >= 1) {
    put(concat("eta ", detail::clock_text(static_cast<std::uint64_t>(static_cast<double>(total - examples) / rate))));
  }
  return text;
}

}  // namespace prdist
