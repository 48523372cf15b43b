// SPDX-License-Identifier: Apache-2.0
// The tables of a model on the servers: declared once, then compared with every model that comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/core/error.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/spec.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

/// Update rules of a model's tables.
struct Optimizers {
  Optimizer sparse;
  Optimizer dense;
  RowPolicy rows = {};  ///< which keys get a row, how it is kept, when it goes
};

struct ModelTables {
  std::vector<SparseRef> sparse{};
  std::optional<DenseRef> dense{};
  bool statistics = false;  ///< pushes of rows bring shows and clicks

  [[nodiscard]] std::size_t dense_size() const { return dense ? dense->size : 0; }

  /// @throws Error whatever a server has to say
  template <class Model>
  [[nodiscard]] static ModelTables declare(Client& client, Model const& model, Optimizers const& rules, ApplyRule apply,
                                           std::uint64_t seed, StalenessBound const& staleness) {
    // A table that adds has no rule of its own: the trainers learn, each by itself, and all by the same.
    bool const adds = apply == ApplyRule::add;
    auto const rule = [&](Optimizer const& wanted) { return adds ? Optimizer(adding) : wanted; };
    auto const learned_by = [&](Optimizer const& wanted) {
      return adds ? std::optional<Optimizer>(wanted) : std::nullopt;
    };
    ModelTables tables{.statistics = rules.rows.statistics.kept};
    for (auto const& input : model.sparse_inputs()) {
      tables.sparse.push_back(client.declare(SparseSpec{.name = input.name,
                                                        .dim = input.dim,
                                                        .optimizer = rule(rules.sparse),
                                                        .init = input.init,
                                                        .apply = apply,
                                                        .seed = seed,
                                                        .precision = rules.rows.precision,
                                                        .admission = rules.rows.admission,
                                                        .statistics = rules.rows.statistics,
                                                        .eviction = rules.rows.eviction,
                                                        .staleness = staleness,
                                                        .learned_by = learned_by(rules.sparse)}));
    }
    if (auto parts = model.dense_parts(); !parts.empty()) {
      tables.dense = client.declare(DenseSpec{.name = "dense",
                                              .parts = std::move(parts),
                                              .optimizer = rule(rules.dense),
                                              .apply = apply,
                                              .seed = seed,
                                              .staleness = staleness,
                                              .learned_by = learned_by(rules.dense)});
    }
    return tables;
  }

  /// A model's own sizes are what its gradients are computed by. @throws Error job.state
  template <class Model>
  void check_same(Model const& model) const {
    auto const inputs = model.sparse_inputs();
    std::size_t size = 0;
    for (auto const& part : model.dense_parts()) size += part.size;
    bool same = inputs.size() == sparse.size() && size == dense_size();
    for (std::size_t t = 0; same && t < inputs.size(); ++t) {
      same = inputs[t].name == sparse[t].name && inputs[t].dim == sparse[t].dim;
    }
    if (same) return;
    throw Error(Errc::job_state,
                "this optimizer has begun with another model, of other tables or sizes: make one optimizer for each");
  }
};

}  // namespace prdist
