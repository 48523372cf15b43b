// SPDX-License-Identifier: Apache-2.0
// Diagnostics as text for people, JSON for programs, workflow commands for GitHub and SARIF for code scanners.
#pragma once

#include <string>
#include <string_view>

#include "diagnostic.hpp"

namespace prdist::gen {

enum class ReportFormat { text, json, github, sarif };

struct ReportOptions {
  ReportFormat format = ReportFormat::text;
  bool colour = false;
  std::size_t max_errors = 50;  ///< of the text form; 0 shows all
};

/// All of it as one string. Empty text when there is nothing to say, except in json and sarif, whose readers expect a
/// document.
[[nodiscard]] std::string report(Diagnostics const& diagnostics, ReportOptions const& options);

}  // namespace prdist::gen
