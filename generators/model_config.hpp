// SPDX-License-Identifier: Apache-2.0
// What a job takes from the model's config.yaml: threads, strategy, device and fleet mode, in the three forms that
// PaddleRec has had. Everything else in that file is the program's own affair.
#pragma once

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "node.hpp"

namespace prdist::gen {

[[nodiscard]] ModelConfig read_model_config(Node const& document, Diagnostics& diagnostics);

}  // namespace prdist::gen
