// SPDX-License-Identifier: Apache-2.0
// A document of any dialect to a JobSpec: keys are found by the tables, values are read by their rules, and every
// fault of form (unknown key, wrong kind of value, number out of range, unknown word) is reported on the way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../diagnostic.hpp"
#include "../job_spec.hpp"
#include "../node.hpp"

namespace prdist::gen {

/// One --set path=value of the command line.
struct Override {
  std::string path;
  std::string value;
};

/// Reads `document`, with `overrides` put over it; nothing when the file is not a backend.yaml at all.
[[nodiscard]] std::optional<JobSpec> read_job(Node document, std::vector<Override> const& overrides,
                                              Diagnostics& diagnostics);

}  // namespace prdist::gen
