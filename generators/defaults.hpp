// SPDX-License-Identifier: Apache-2.0
// Filling in what a file leaves out. `given` stays false, so that a target may still know.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "job_spec.hpp"

namespace prdist::gen {

inline void fill(Text& text, std::string value) {
  if (!text.given) text.value = std::move(value);
}

inline void fill(Number& number, std::int64_t value) {
  if (!number.given) number.value = value;
}

/// With the other's place, so that a fault points at what the user wrote.
inline void fill(Text& text, Text const& other) {
  if (!text.given) text = other;
}

}  // namespace prdist::gen
