// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"

#include <vector>

#include "catalogue_parts.hpp"

namespace prdist::gen {

std::span<CodeEntry const> catalogue() {
  static std::vector<CodeEntry> const all = [] {
    std::vector<CodeEntry> joined(form_codes().begin(), form_codes().end());
    joined.insert(joined.end(), meaning_codes().begin(), meaning_codes().end());
    return joined;
  }();
  return all;
}

CodeEntry const* find_code(std::string_view code) {
  for (auto const& entry : catalogue()) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace prdist::gen
