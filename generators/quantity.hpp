// SPDX-License-Identifier: Apache-2.0
// Kubernetes quantities: 4Gi, 500m, 1.5, 2e3. The grammar is the apiserver's own, so that what is refused there is
// refused here, with the spelling that was meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prdist::gen {

/// The amount in units (bytes, cores); exact enough to compare two of them.
[[nodiscard]] std::optional<long double> parse_quantity(std::string_view text);

/// A correct spelling that `text` may have meant (4GiB: 4Gi, 512 mb: 512Mi), or empty.
[[nodiscard]] std::string quantity_meant(std::string_view text);

/// `amount` units as a short quantity: with binary suffixes for bytes, in thousandths for cores.
[[nodiscard]] std::string bytes_text(long double amount);
[[nodiscard]] std::string cores_text(long double amount);

}  // namespace prdist::gen
