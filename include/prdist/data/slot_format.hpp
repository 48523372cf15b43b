// SPDX-License-Identifier: Apache-2.0
// Which fields of a slot text line mean what. The two texts of a config.yaml (`sparse_slots`, `dense_slots`) are
// read as PaddleRec reads them; the defaults are those of its Criteo samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct DenseSlot {
  std::string name;
  std::size_t dim = 0;

  friend bool operator==(DenseSlot const&, DenseSlot const&) = default;
};

/// A line is `name:value` fields between blanks: the label, the values of the dense slots, the ids of the sparse
/// ones. A name that stands several times has several values; a name that is not listed here is passed over.
struct SlotFormat {
  std::string label = "click";
  std::vector<DenseSlot> dense = {{"dense_feature", 13}};
  std::vector<std::string> sparse = numbered(26);

  [[nodiscard]] std::size_t dense_dim() const {
    std::size_t sum = 0;
    for (auto const& slot : dense) sum += slot.dim;
    return sum;
  }

  /// "1" … "count", as Criteo's slots are called.
  [[nodiscard]] static std::vector<std::string> numbered(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 1; i <= count; ++i) names.push_back(concat(i));
    return names;
  }

  friend bool operator==(SlotFormat const&, SlotFormat const&) = default;
};

/// From `sparse_slots`, whose first name is the label ("click 1 2 … 26"), and `dense_slots` ("dense_feature:13";
/// several are separated by blanks, none is the empty text).
[[nodiscard]] inline Result<SlotFormat> parse_slot_format(std::string_view sparse_slots, std::string_view dense_slots) {
  auto const words = [](std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
      auto const end = std::min(text.find_first_of(" \t", at), text.size());
      found.push_back(text.substr(at, end - at));
      at = end;
    }
    return found;
  };
  std::set<std::string_view> names;
  auto const twice = [](std::string_view name) {
    return Error(Errc::config_invalid, "slot '", name,
                 "' stands twice in sparse_slots and dense_slots: name every slot once");
  };
  auto const sparse = words(sparse_slots);
  if (sparse.empty()) {
    return Error(Errc::config_missing,
                 "sparse_slots is empty: list the label first, then the slots, as in 'click 1 2 3'");
  }
  SlotFormat format{.label = std::string(sparse.front()), .dense = {}, .sparse = {}};
  for (auto const name : sparse) {
    if (name.find(':') != std::string_view::npos) {
      return Error(Errc::config_invalid, "sparse_slots, '", name,
                   "' has a colon, which ends a name in a line: write the name alone");
    }
    if (!names.insert(name).second) return twice(name);
    if (names.size() > 1) format.sparse.emplace_back(name);
  }
  for (auto const word : words(dense_slots)) {
    auto const colon = word.find(':');
    std::size_t dim = 0;
    if (colon == 0 || colon == std::string_view::npos || !parse_number(word.substr(colon + 1), dim) || dim == 0) {
      return Error(Errc::config_invalid, "dense_slots, '", word,
                   "' is not name:dim: write how many values it has, as in 'dense_feature:13'");
    }
    if (!names.insert(word.substr(0, colon)).second) return twice(word.substr(0, colon));
    format.dense.push_back({std::string(word.substr(0, colon)), dim});
  }
  return format;
}

}  // namespace prdist
