// SPDX-License-Identifier: Apache-2.0
// Does what a step was given fit the model? Layers only assert; a model checks once per step, so that a reader and
// a network that were configured apart meet in a message and not in wrong memory.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/data/batch.hpp>

namespace prdist::nn {

/// @throws Error config.contradiction when the batch has another number of slots or dense features
inline void check_batch(std::string_view model, std::size_t slots, std::size_t dense, Batch const& batch) {
  if (batch.slots == slots && batch.dense_dim == dense) return;
  throw Error(Errc::config_contradiction, model, " of ", slots, " slots and ", dense,
              " dense features was given a batch of ", batch.slots, " slots and ", batch.dense_dim,
              " features: make the reader's format and the model agree");
}

/// `what` names the numbers in question, as in "dense weights".
/// @throws Error table.shape when there are not `wanted` of them
inline void check_size(std::string_view model, std::string_view what, std::size_t wanted, std::size_t given) {
  if (wanted == given) return;
  throw Error(Errc::table_shape, model, " needs ", wanted, ' ', what, " for this batch and was given ", given,
              ": give what sparse_inputs(), dense_parts() and keys() ask for");
}

}  // namespace prdist::nn
