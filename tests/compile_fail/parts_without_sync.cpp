// expect: minimize\(\) of several models is a step of Sync
#include <cstddef>
#include <span>
#include <vector>

#include <prdist/fleet.hpp>

struct Rows {
  std::vector<prdist::Key> keys;
  std::size_t size() const { return keys.size(); }
  Rows slice(std::size_t, std::size_t) const { return *this; }
};

struct Model {
  std::vector<prdist::SparseInput> sparse_inputs() const { return {}; }
  std::vector<prdist::DensePart> dense_parts() const { return {}; }
  std::span<prdist::Key const> keys(Rows const& batch, std::size_t) const { return batch.keys; }
  double gradients(Rows const&, prdist::StepView const&) { return 0; }
};

#ifdef CONTROL
using Chosen = prdist::Sync;
#else
using Chosen = prdist::Geo;
#endif

double step(prdist::DistributedOptimizer<Chosen, prdist::Cpu>& optimizer, std::span<Model> models) {
  return optimizer.minimize(models, Rows{}, 2);
}
