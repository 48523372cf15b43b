// SPDX-License-Identifier: Apache-2.0
// The sign of a number or of each number in a vector, for rules that shrink weights towards zero.
#pragma once

namespace prdist {

/// Replaces x by 1, -1, or 0 where it is zero or no number. By reference, because a vector passed by value would tie
/// the caller to an instruction set.
template <class V>
constexpr void replace_by_sign(V& x) {
  V const zero{};
  V const one = zero + 1.0F;
  x = x > zero ? one : (x < zero ? -one : zero);
}

}  // namespace prdist
