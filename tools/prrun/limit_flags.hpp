// SPDX-License-Identifier: Apache-2.0
// The flags for how long things may take, of every command that runs members.
#pragma once

#include <optional>
#include <string>

#include <prdist/launch/rules.hpp>

#include "command_line.hpp"

namespace prrun {

struct LimitFlags {
  double server_grace = 10;
  double grace = 30;
  std::optional<double> timeout;
};

/// `whole` is what --timeout limits, as in "the whole job".
void declare(CLI::App& app, LimitFlags& flags, std::string const& whole);

void apply(LimitFlags const& flags, prdist::EndingLimits& limits);

}  // namespace prrun
