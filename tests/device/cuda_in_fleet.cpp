// A whole job whose workers compute by way of Cuda's class, on Thrust's host system: where a step forgets an upload
// or a download, its weights differ from those of Cpu.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "../support/cluster.hpp"
#include "host_system.hpp"

namespace prdist::test {
namespace {

struct Clicks {
  std::vector<Key> keys;  // two per example
  std::vector<float> labels;
  [[nodiscard]] std::size_t size() const { return labels.size(); }
};

/// Two rows and a dense row per example, multiplied. On a true GPU its loops would be kernels.
struct Product {
  static constexpr std::size_t dim = 4;
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", dim, Initializer::uniform(-0.5F, 0.5F)}}; }
  std::vector<DensePart> dense_parts() const { return {{"scale", dim, Initializer::constant(1)}}; }
  std::span<Key const> keys(Clicks const& batch, std::size_t) const { return batch.keys; }
  double gradients(Clicks const& batch, StepView const& view) {
    double loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto const* const a = &view.rows[0][2 * i * dim];
      auto const* const b = a + dim;
      float z = 0;
      for (std::size_t k = 0; k < dim; ++k) z += view.dense[k] * a[k] * b[k];
      float const slope = (z - batch.labels[i]) / static_cast<float>(batch.size());
      loss += 0.5 * std::pow(z - batch.labels[i], 2) / static_cast<double>(batch.size());
      for (std::size_t k = 0; k < dim; ++k) {
        view.dense_gradient[k] += slope * a[k] * b[k];
        view.row_gradients[0][2 * i * dim + k] += slope * view.dense[k] * b[k];
        view.row_gradients[0][(2 * i + 1) * dim + k] += slope * view.dense[k] * a[k];
      }
    }
    return loss;
  }
};

struct Trained {
  std::vector<double> losses;
  std::vector<float> dense;
};

template <class DeviceChoice>
Trained train() {
  Trained result;
  auto options = quick_options();
  options.seed = 7;
  spawn<Strategy<Sync>, Transport<Memory>, Device<DeviceChoice>>(2, 1, options, [&](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Adam{.rate = 0.05F});
    fleet.init_worker();
    Product model;
    for (std::uint64_t step = 0; step < 40; ++step) {
      Clicks batch;
      for (std::uint64_t i = 0; i < 8 + step % 5; ++i) {  // batches of different sizes
        auto const bits = mix(step * 1009 + i);
        batch.keys.insert(batch.keys.end(), {bits % 20, 100 + bits / 64 % 20});
        batch.labels.push_back(static_cast<float>(bits >> 63));
      }
      result.losses.push_back(optimizer.minimize(model, batch));
    }
    optimizer.finish();
    result.dense = optimizer.dense_weights();
    fleet.stop_worker();
  });
  return result;
}

TEST(CudaInFleet, TrainsToTheWeightsOfTheCpu) {
  auto const cpu = train<Cpu>();
  auto const cuda = train<HostCuda>();
  ASSERT_EQ(cpu.losses.size(), 40U);
  EXPECT_EQ(cuda.losses, cpu.losses);
  EXPECT_EQ(cuda.dense, cpu.dense);
  EXPECT_NE(cpu.losses.front(), cpu.losses.back()) << "it did learn something";
}

}  // namespace
}  // namespace prdist::test
