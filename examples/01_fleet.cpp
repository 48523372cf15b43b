// The ten lines: one program that is server or worker, as its environment says.
//   prrun --server_num 2 --trainer_num 2 -- 01_fleet data/train
#include <prdist/data.hpp>
#include <prdist/fleet.hpp>
#include <prdist/nn.hpp>
using namespace prdist;

int main(int argc, char** argv) {
  return run_main([&] {
    Fleet<Strategy<Async>, Transport<Beast>, Device<Cpu>> fleet{roles_from_env()};
    auto optimizer = fleet.distributed_optimizer(Adam{.rate = 1e-3F});
    if (fleet.is_server()) {
      fleet.init_server();
      return fleet.run_server();  // until all workers have stopped
    }
    fleet.init_worker();
    nn::CtrDnn model{.dim = 9, .hidden = {64, 32}};
    auto const files = fleet.split_files(expand_files(argc > 1 ? argv[1] : "train").value());
    for (auto const& batch : SlotReader(files)) optimizer.minimize(model, batch);
    fleet.stop_worker();
    return 0;
  });
}
