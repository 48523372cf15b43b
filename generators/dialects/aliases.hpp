// SPDX-License-Identifier: Apache-2.0
// How the two forms of backend.yaml spell what keys.hpp lists. The current form stands below `engine:`, the form of
// PaddleRec 1.8 has no such level. Adding a dialect is adding a table here and a line in detect().
#pragma once

#include <span>

#include "../keys.hpp"

namespace prdist::gen {

/// Below `engine:`; those of PaddleRec's own documents, of its PaddleCloud example and of its MPI example of May 2020.
[[nodiscard]] std::span<Alias const> engine_aliases();

/// Of PaddleRec 1.8's files: backend, cluster_type, config, submit.
[[nodiscard]] std::span<Alias const> flat_aliases();

}  // namespace prdist::gen
