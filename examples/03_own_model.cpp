// A model of your own, with gradients by hand: two towers. docs/models.md goes through it.
//   03_own_model --check
//   prrun --server_num 2 --trainer_num 2 -- 03_own_model data/train data/test model.npz
#include <prdist/data.hpp>
#include <prdist/data/planted.hpp>
#include <prdist/fleet.hpp>
#include <prdist/nn/check_gradients.hpp>
#include <prdist/nn/check_step.hpp>
#include <prdist/nn/sigmoid_cross_entropy.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>
using namespace prdist;

/// A click is likely when the user and the item go together: logit = user' match item + a weight per id and feature.
struct TwoTowers {
  std::size_t slots = 26;  ///< the first half says who the user is, the second what the item is
  std::size_t features = 13;
  std::size_t dim = 8;

  std::vector<SparseInput> sparse_inputs() const {
    return {{"wide", 1, Initializer::zeros()}, {"tower", dim, Initializer::uniform(-0.1F, 0.1F)}};
  }
  std::vector<DensePart> dense_parts() const {
    return {{"match", dim * dim, Initializer::xavier(dim, dim), {dim, dim}},
            {"feature", features, Initializer::zeros()},
            {"bias", 1, Initializer::zeros()}};
  }
  std::span<Key const> keys(Batch const& batch, std::size_t /*input*/) const { return batch.keys; }

  double gradients(Batch const& batch, StepView const& view) {
    auto const logits = forward(batch, view.dense, view.rows);
    slope.resize(batch.size());
    auto const loss = nn::sigmoid_cross_entropy<float>(logits, batch.labels, std::span(slope));
    auto const match = view.dense.first(dim * dim);
    auto const of_match = view.dense_gradient.first(dim * dim);
    std::vector<float> of_towers(2 * dim);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto const* const user = &towers[2 * i * dim];
      auto const* const item = user + dim;
      std::fill(of_towers.begin(), of_towers.end(), 0.0F);
      for (std::size_t a = 0; a < dim; ++a) {
        for (std::size_t b = 0; b < dim; ++b) {
          of_match[a * dim + b] += slope[i] * user[a] * item[b];
          of_towers[a] += slope[i] * match[a * dim + b] * item[b];
          of_towers[dim + b] += slope[i] * match[a * dim + b] * user[a];
        }
      }
      for_keys(batch, i, [&](std::size_t key, std::size_t tower) {
        view.row_gradients[0][key] += slope[i];
        for (std::size_t d = 0; d < dim; ++d) view.row_gradients[1][key * dim + d] += of_towers[tower * dim + d];
      });
      for (std::size_t f = 0; f < features; ++f) view.dense_gradient[dim * dim + f] += slope[i] * batch.dense_of(i)[f];
      view.dense_gradient[dim * dim + features] += slope[i];
    }
    return loss;
  }

  void predict(Batch const& batch, std::span<float const> dense, std::span<std::span<float const> const> rows,
               std::span<float> out) {
    auto const logits = forward(batch, dense, rows);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = nn::sigmoid(logits[i]);
  }

  std::span<float const> forward(Batch const& batch, std::span<float const> dense,
                                 std::span<std::span<float const> const> rows) {
    nn::check_batch("TwoTowers", slots, features, batch);
    towers.assign(2 * batch.size() * dim, 0.0F);
    logits_.assign(batch.size(), dense[dim * dim + features]);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto* const user = &towers[2 * i * dim];
      for_keys(batch, i, [&](std::size_t key, std::size_t tower) {
        logits_[i] += rows[0][key];
        for (std::size_t d = 0; d < dim; ++d) user[tower * dim + d] += rows[1][key * dim + d];
      });
      for (std::size_t f = 0; f < features; ++f) logits_[i] += dense[dim * dim + f] * batch.dense_of(i)[f];
      for (std::size_t a = 0; a < dim; ++a) {
        for (std::size_t b = 0; b < dim; ++b) logits_[i] += user[a] * dense[a * dim + b] * user[dim + b];
      }
    }
    return logits_;
  }

  /// Calls `use(place of the key, tower)` for each key of an example.
  template <class Use>
  void for_keys(Batch const& batch, std::size_t example, Use&& use) const {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      auto const bag = example * slots + slot;
      for (std::size_t key = batch.offsets[bag]; key < batch.offsets[bag + 1]; ++key) use(key, slot * 2 / slots);
    }
  }

  std::vector<float> towers{}, logits_{}, slope{};  ///< memory between steps, no part of the model
};
static_assert(trainable<TwoTowers, Batch>);

/// Whether the gradients above are those of the loss.
static int check() {
  Planted const planted;
  auto const error = nn::check_gradients(TwoTowers{.dim = 3}, planted.batch(PlantedSet::train, 0, 4));
  std::printf("gradients are off by %.1e at most, %s\n", error.worst, error.where.c_str());
  return error.worst < 0.01 ? 0 : 1;
}

int main(int argc, char** argv) {
  return run_main([&] {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string>{"--check"}) return check();
    if (arguments.size() < 2) throw Error(Errc::config_missing, "give --check, or TRAIN TEST [MODEL.npz]");

    Fleet<Strategy<Async>> fleet{roles_from_env()};
    auto optimizer = fleet.distributed_optimizer({.sparse = Adagrad{.rate = 0.05F}, .dense = Adam{.rate = 1e-3F}});
    if (fleet.is_server()) {
      fleet.init_server();
      return fleet.run_server();
    }
    fleet.init_worker();
    TwoTowers model;
    SlotReader reader(fleet.split_files(expand_files(arguments[0]).value()), {.batch_size = 64});
    double loss = 0;
    std::size_t step = 0;
    for (auto const& batch : reader) {
      loss += optimizer.minimize(model, batch);
      if (++step % 50 == 0) std::printf("step %zu mean loss %.4f\n", step, std::exchange(loss, 0) / 50);
    }
    optimizer.finish();
    fleet.barrier("trained");
    if (fleet.is_first_worker()) {
      std::vector<float> labels, scores;
      for (auto const& batch : SlotReader(expand_files(arguments[1]).value())) {
        std::vector<float> out(batch.size());
        optimizer.predict(model, batch, out);
        labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
        scores.insert(scores.end(), out.begin(), out.end());
      }
      std::printf("AUC %.4f\n", auc(labels, scores));
      if (arguments.size() > 2) fleet.save_inference_model(arguments[2]);
    }
    fleet.stop_worker();
    return 0;
  });
}
