// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word that a misspelt one is closest to.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prdist {

/// Letters to insert, drop, change or swap with a neighbour to get from one word to the other; case does not count.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  auto const same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0U : 1U)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

/// The closest of `known`, or empty when none is close: a third of the letters may differ.
[[nodiscard]] inline std::string did_you_mean(std::string_view word, std::span<std::string const> known) {
  if (word.size() > 100) return {};  // the table above is quadratic, and nobody misspells a hundred letters
  std::string best;
  auto least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (auto const& candidate : known) {
    auto const distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace prdist
