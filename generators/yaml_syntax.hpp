// SPDX-License-Identifier: Apache-2.0
// What yaml-cpp finds wrong, in words that say what to do.
#pragma once

#include <cstddef>
#include <string>

#include "diagnostic.hpp"
#include "source.hpp"

namespace prdist::gen {

/// Adds the error for yaml-cpp's `message` at line and column, both from 1. `bracket` is the innermost list or map that
/// was open in brackets, with line 0 when none was.
void report_syntax(SourcePtr const& source, std::size_t line, std::size_t column, std::string message,
                   Where const& bracket, Diagnostics& diagnostics);

}  // namespace prdist::gen
