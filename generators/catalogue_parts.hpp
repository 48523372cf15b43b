// SPDX-License-Identifier: Apache-2.0
// The two halves of the catalogue: faults of form, and faults of meaning. Split for their size alone.
#pragma once

#include "catalogue.hpp"

namespace prdist::gen {

[[nodiscard]] std::span<CodeEntry const> form_codes();
[[nodiscard]] std::span<CodeEntry const> meaning_codes();

}  // namespace prdist::gen
