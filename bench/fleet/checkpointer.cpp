// What a checkpoint of 10 million rows costs through tables, threads and files: as long as nothing else runs, beside a
// plain write of the same bytes; and what training loses while one is being written. The server is a process of its
// own, over TCP; the worker trains a DNN on batches whose keys are spread over all rows.
#include <prdist/fleet.hpp>
#include <prdist/nn.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/plain_write.hpp"
#include "key_sets.hpp"
#include "transport/raw_peer.hpp"

namespace {

using namespace prdist;
using Worker = Fleet<Strategy<Async>, Transport<Tcp>>;

constexpr std::size_t rows = 10'000'000;
constexpr std::size_t batch_size = 512;
constexpr std::size_t slots = 26;
constexpr std::size_t dense_features = 13;

std::vector<Batch> some_batches(std::size_t count) {
  ankerl::nanobench::Rng random(7);
  std::vector<Batch> batches(count);
  for (auto& batch : batches) {
    batch.slots = slots;
    batch.dense_dim = dense_features;
    for (std::size_t example = 0; example < batch_size; ++example) {
      batch.labels.push_back(static_cast<float>(random.bounded(2)));
      for (std::size_t i = 0; i < dense_features; ++i) batch.dense.push_back(static_cast<float>(random.uniform01()));
      for (std::size_t slot = 0; slot < slots; ++slot) {
        batch.keys.push_back(bench::key_of_row(random.bounded(rows)));
        batch.end_slot();
      }
    }
  }
  return batches;
}

void fill(Client& client, SparseRef const& table) {
  std::vector<Key> keys(100'000);
  std::vector<float> const gradients(keys.size() * table.dim, 1.0F);
  for (std::size_t row = 0; row < rows; row += keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = bench::key_of_row(row + i);
    client.push(table, keys, gradients).wait();
  }
}

std::size_t bytes_in(std::string const& folder) {
  std::size_t sum = 0;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

/// A server with all rows, this process as its worker, and a disk.
template <class Measure>
void with_rows(Measure&& measure) {
  set_log({});
  auto const [listener, port] = bench::listen_on_loopback();
  std::vector<Endpoint> const servers{{"127.0.0.1", port}};
  bench::Child const server([&, listener = listener] {
    Worker fleet{Roles{Role::server, 0, servers, 1, listener}};
    fleet.init_server();
    return fleet.run_server();
  });
  ::close(listener);

  Worker fleet{Roles{Role::worker, 0, servers, 1}};
  fleet.init_worker();
  nn::CtrDnn model{.dim = bench::row_dim, .hidden = {400, 400, 400}};
  {
    auto optimizer = fleet.distributed_optimizer(Optimizers{Adagrad{}, Adam{}});
    optimizer.prepare(model);
    auto& client = fleet.client();
    fill(client, client.declare(std::get<SparseSpec>(client.declared().front())));
    bench::DiskFolder const disk;
    measure(fleet, optimizer, model, disk.path());
  }
  fleet.stop_worker();
}

void alone() {
  with_rows([](auto& fleet, auto&, auto&, std::string const& disk) {
    auto const plain = disk + "/plain", saved = disk + "/saved";
    (void)fleet.save_persistables(saved);
    auto const bytes = bytes_in(saved);
    bench::verify(bytes > rows * (sizeof(Key) + 2 * bench::row_dim * sizeof(float)), "rows are missing on the disk");
    std::vector<std::byte> const some(8 << 20, std::byte{0x5a});
    auto const write_plain = [&] {
      return bench::seconds_on_disk(plain, [&] { bench::plain_write(plain, {some}, bytes); });
    };
    bench::Rounds("10 M rows, dim 16, Adagrad, from a server to the disk", "byte", static_cast<double>(bytes))
        .add_timed("plain write and fsync", write_plain)
        .add_timed(
            "checkpoint", [&] { return bench::seconds_on_disk(saved, [&] { (void)fleet.save_persistables(saved); }); },
            0.7)
        .run(7, 1, false);
  });
}

void beside_training() {
  with_rows([](auto& fleet, auto& optimizer, auto& model, std::string const& disk) {
    auto const batches = some_batches(64);
    std::size_t turn = 0;
    // As train() steps: the next batch's rows are asked for while this one is computed.
    auto const step = [&] {
      auto const& batch = batches[turn++ % batches.size()];
      (void)optimizer.minimize(model, batch, 0, &batches[turn % batches.size()]);
    };
    constexpr std::size_t steps = 250;
    auto const undisturbed = [&] {
      auto const start = ankerl::nanobench::Clock::now();
      for (std::size_t i = 0; i < steps; ++i) step();
      return std::chrono::duration<double>(ankerl::nanobench::Clock::now() - start).count();
    };
    // From the marker until all is on the disk, however many steps that is.
    auto checkpoints = fleet.checkpointer(optimizer, {.directory = disk + "/saved", .every = 1, .keep = 1});
    double longest = 0;
    auto const while_saving = [&] {
      std::size_t taken = 0;
      auto const start = ankerl::nanobench::Clock::now();
      bench::verify(checkpoints.between_steps([] { return WorkerState{}; }) == Next::train, "a checkpoint begins");
      do {
        step();
        ++taken;
      } while (checkpoints.writing());
      auto const spent = std::chrono::duration<double>(ankerl::nanobench::Clock::now() - start).count();
      longest = std::max(longest, spent);
      return spent / static_cast<double>(taken) * static_cast<double>(steps);
    };
    bench::Rounds("training, 1 worker and 1 server", "example", static_cast<double>(steps * batch_size))
        .add_timed("nothing beside it", undisturbed)
        .add_timed("while a checkpoint of 10 M rows is written", while_saving, 0.95)
        .add_timed("nothing beside it again", undisturbed)
        .run(9);
    std::printf("  the longest checkpoint took %.1f s\n", longest);
  });
}

bench::Entry const entry_alone{"fleet/checkpointer/alone", alone};
bench::Entry const entry_beside{"fleet/checkpointer/beside_training", beside_training};

}  // namespace
