// SPDX-License-Identifier: Apache-2.0
// Text to Node. Whatever is not plain configuration (foreign tags, merge keys, a second document, sizes beyond any
// real file) is an error with a place; nothing a file holds can make the reader slow or large.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "diagnostic.hpp"
#include "node.hpp"

namespace prdist::gen {

struct ReadOptions {
  bool last_duplicate_wins = false;  ///< with a warning; an error otherwise
  std::size_t max_bytes = 1 << 20;   ///< of the file; of its values, aliases written out, twice as many
  std::size_t max_depth = 64;
  std::size_t max_nodes = 20'000;  ///< with aliases written out
  bool foreign = false;            ///< a file that others write, too: tags are passed over and merge keys merged
};

/// The one document of `source`, or nothing, with at least one error added then. Duplicate keys are reported and the
/// reading goes on.
[[nodiscard]] std::optional<Node> read_yaml(SourcePtr const& source, ReadOptions const& options,
                                            Diagnostics& diagnostics);

/// All documents of a text that we wrote ourselves; used to look at rendered manifests. The same rules hold.
[[nodiscard]] std::optional<std::vector<Node>> read_yaml_documents(SourcePtr const& source, ReadOptions const& options,
                                                                   Diagnostics& diagnostics);

}  // namespace prdist::gen
