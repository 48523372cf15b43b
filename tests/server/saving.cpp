#include <prdist/server/saving.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include <prdist/checkpoint/pending.hpp>

#include "../data/temp_dir.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

/// One server of two, its tables and its part in checkpoints.
struct OneServer {
  Placement placement{2};
  Catalog catalog;
  Engine engine;
  Saving saving;

  explicit OneServer(std::uint32_t index, unsigned threads = 2)
      : engine(placement, index, threads, 1), saving(engine, catalog, placement, index), index_(index) {}

  void declare(SparseSpec const& spec) {
    ASSERT_TRUE(catalog.add(spec, placement, index_));
    apply(DeclareSparse{table_id(spec.name), spec});
  }

  void apply(Command command) {
    Gate done;
    engine.apply(std::move(command), std::nullopt, [&](Error const* error) {
      EXPECT_EQ(error, nullptr);
      done.open();
    });
    ASSERT_TRUE(done.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  }

  /// The state when the work is over.
  WorkState wait() const {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!saving.state().done && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return saving.state();
  }

  std::size_t rows(std::string_view table) {
    std::size_t sum = 0;
    std::mutex mutex;
    Gate done;
    engine.read(
        [&](ShardGroup const& group) {
          std::lock_guard const lock(mutex);
          sum += group.rows(table_id(table));
        },
        [&](Error const*) { done.open(); });
    EXPECT_TRUE(done.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    return sum;
  }

 private:
  std::uint32_t index_;
};

SparseSpec const spec{.name = "t", .dim = 2, .optimizer = Adagrad{}};

Command push(std::vector<Key> const& keys, std::vector<float> const& gradients) {
  return PushRows{table_id("t"), 0, 1, true, 0, keys, gradients, nullptr};
}

TEST(Saving, WritesItsShardsAndLoadsThemBack) {
  TempDir const dir;
  std::vector<Key> keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7919;
  std::vector<float> const gradients(keys.size() * 2, 1);
  PendingCheckpoint pending(dir.path().native(), 0, "test");
  Manifest manifest{.servers = 2, .tables = {{.spec = spec}}};
  std::size_t saved = 0;
  for (std::uint32_t index = 0; index < 2; ++index) {
    OneServer server(index);
    server.declare(spec);
    server.apply(push(keys, gradients));
    saved += server.rows("t");
    bool marked = false;
    Gate gate;
    server.saving.cut(pending.path(), CutKind::full, [&](Error const* error) {
      marked = error == nullptr;
      gate.open();
    });
    ASSERT_TRUE(gate.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    EXPECT_TRUE(marked);
    EXPECT_FALSE(server.wait().result.empty());
    PartReader const part(concat(pending.path(), '/', part_name(index)));
    EXPECT_EQ(part.rows(), server.rows("t"));
    manifest.parts.clear();
  }
  EXPECT_EQ(saved, keys.size());
}

TEST(Saving, AFolderThatIsNotThereIsNamedAtOnce) {
  OneServer server(0);
  auto const error = thrown([&] { server.saving.cut("/nonexistent/folder", CutKind::full, [](Error const*) {}); });
  EXPECT_EQ(error.code(), Errc::checkpoint_file);
  EXPECT_TRUE(holds(error.what(), "/nonexistent/folder/part-000"));
}

TEST(Saving, WhatCannotBeLoadedIsToldInItsState) {
  OneServer server(0);
  server.saving.load("/nonexistent/pass-00000");
  auto const state = server.wait();
  ASSERT_TRUE(state.failed);
  EXPECT_TRUE(holds(state.failed->what(), "/nonexistent/pass-00000"));
}

}  // namespace
}  // namespace prdist::test
