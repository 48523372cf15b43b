// A parameter server and nothing more: logistic regression written out, with pull and push alone.
//   prrun --server_num 1 --trainer_num 2 -- 02_pull_push
#include <prdist/fleet.hpp>

#include <cmath>
#include <cstdio>
#include <vector>
using namespace prdist;

/// Example `i` of a made-up stream: two ids and a constant one; the label is whether the ids are large together.
struct Example {
  std::vector<Key> keys;
  float label;
};
static Example example(std::uint64_t i) {
  auto const bits = mix(i);
  Key const a = bits % 50, b = 100 + bits / 50 % 50;
  return {{a, b, 1000}, a + b > 149 ? 1.0F : 0.0F};
}

int main() {
  return run_main([] {
    Fleet<Transport<Tcp>> fleet{roles_from_env()};
    if (fleet.is_server()) {
      fleet.init_server();
      return fleet.run_server();
    }
    fleet.init_worker();
    auto& servers = fleet.client();
    auto const weights = servers.declare(SparseSpec{.name = "weights", .dim = 1, .optimizer = Adagrad{.rate = 0.5F}});
    std::vector<float> w(3), gradients(3);
    double loss = 0;
    for (std::uint64_t i = 0; i < 8000; ++i) {
      auto const [keys, label] = example(i * fleet.roles().workers + fleet.roles().index);
      servers.pull(weights, keys, w).wait();
      float const p = 1 / (1 + std::exp(-(w[0] + w[1] + w[2])));
      gradients.assign(3, p - label);
      servers.push(weights, keys, gradients).wait();
      loss += -std::log(label != 0 ? p : 1 - p);
      if ((i + 1) % 2000 == 0) std::printf("examples %llu mean loss %.4f\n", 1ULL + i, std::exchange(loss, 0) / 2000);
    }
    fleet.stop_worker();
    return 0;
  });
}
