// SPDX-License-Identifier: Apache-2.0
// One value by its rule: kind, range, words. What a value means for a cluster is not looked at here but in checks.hpp.
#pragma once

#include "../diagnostic.hpp"
#include "../job_spec.hpp"
#include "../keys.hpp"
#include "../node.hpp"

namespace prdist::gen {

/// Puts `value` into the member of `job` that `key` names, or reports why not.
void read_value(Key const& key, Node const& value, Where const& where, JobSpec& job, Diagnostics& diagnostics);

}  // namespace prdist::gen
