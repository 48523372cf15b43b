// SPDX-License-Identifier: Apache-2.0
#include "limit_flags.hpp"

namespace prrun {

void declare(CLI::App& app, LimitFlags& flags, std::string const& whole) {
  app.add_option(spelled("server_grace"), flags.server_grace,
                 "seconds that servers have to end by themselves after the trainers")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("grace"), flags.grace, "seconds between SIGTERM and SIGKILL, for a last checkpoint")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("timeout"), flags.timeout, prdist::concat("seconds that ", whole, " may take"))
      ->check(seconds())
      ->type_name("S");
}

void apply(LimitFlags const& flags, prdist::EndingLimits& limits) {
  limits.server_grace = millis(flags.server_grace);
  limits.grace = millis(flags.grace);
  if (flags.timeout) limits.timeout = millis(*flags.timeout);
}

}  // namespace prrun
