// A member of a job that loads a checkpoint and writes what it predicts: predict_rows CKPT ROWS OUT HIDDEN...
// Keys without a row count as zeros, as they do in Paddle.
#include <prdist/data.hpp>
#include <prdist/fleet.hpp>
#include <prdist/nn.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using namespace prdist;

int main(int argc, char** argv) {
  return run_main([&] {
    if (argc < 5) throw Error(Errc::config_missing, "predict_rows CKPT ROWS OUT HIDDEN...: give all of them");
    nn::CtrDnn model{.hidden = {}, .init = Initializer::zeros()};
    for (int i = 4; i < argc; ++i) model.hidden.push_back(std::strtoul(argv[i], nullptr, 10));
    Fleet<> fleet{roles_from_env()};
    auto optimizer = fleet.distributed_optimizer(Adam{});
    if (fleet.is_server()) {
      fleet.init_server();
      return fleet.run_server();
    }
    fleet.init_worker();
    optimizer.prepare(model);
    fleet.load(argv[1]);
    std::ofstream out(argv[3]);
    out.precision(9);
    for (auto const& batch : SlotReader({argv[2]})) {
      std::vector<float> predicted(batch.size());
      optimizer.predict(model, batch, predicted);
      for (auto const each : predicted) out << each << '\n';
    }
    fleet.stop_worker();
    return out.flush() ? 0 : 1;
  });
}
