// A job as threads of one process: a server, two workers, one table. It ends with 0 when the sums are right.
#include <prdist/fleet.hpp>

#include <iostream>
#include <memory>
#include <thread>
#include <vector>

using namespace prdist;

int main() {
  return run_main([] {
    auto const hub = std::make_shared<MemoryHub>();
    Roles roles{.role = Role::server, .servers = {{"memory", 1}}, .workers = 2};
    Fleet<Transport<Memory>> server{roles, Memory{hub}};
    server.init_server();

    std::vector<float> row(2);
    auto const work = [&](std::uint32_t index) {
      auto mine = roles;
      mine.role = Role::worker;
      mine.index = index;
      Fleet<Transport<Memory>> worker{mine, Memory{hub}};
      worker.init_worker();
      auto& client = worker.client();
      auto const table = client.declare(SparseSpec{.name = "rows", .dim = 2, .optimizer = Sgd{.rate = 1}});
      client.push(table, std::vector<Key>{7}, std::vector<float>{1, 2}).wait();
      client.barrier("pushed");
      if (index == 0) client.pull(table, std::vector<Key>{7}, row).wait();
      worker.stop_worker();
    };
    std::thread zero(work, 0), one(work, 1);
    auto const code = server.run_server();
    zero.join();
    one.join();
    std::cout << "prdist " << version << ": row 7 is " << row[0] << ' ' << row[1] << '\n';
    return row == std::vector<float>{-2, -4} ? code : 1;
  });
}
