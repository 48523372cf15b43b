#include <prdist/server/saving.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <prdist/checkpoint/pending.hpp>

#include "../data/temp_dir.hpp"
#include "../support/caught_log.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

/// One server of some, its tables and its part in checkpoints.
struct OneServer {
  Placement placement;
  Catalog catalog;
  Engine engine;
  Saving saving;

  explicit OneServer(std::uint32_t index, unsigned threads = 2, std::size_t servers = 2,
                     std::size_t ceiling = no_ceiling)
      : placement(servers),
        engine(placement, index, threads, 1, ceiling),
        saving(engine, catalog, placement, index),
        index_(index) {}

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

  std::string kept_cut() {
    std::promise<std::string> said;
    saving.tell_kept_cut([&](std::string const& name) { said.set_value(name); });
    return said.get_future().get();
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

/// All servers of a job, told the same.
class Servers {
 public:
  Servers(std::uint32_t count, SparseSpec const& table) : table_(table) {
    for (std::uint32_t index = 0; index < count; ++index) {
      all_.push_back(std::make_unique<OneServer>(index, 1 + index % 2, count));
      all_.back()->declare(table_);
    }
  }

  /// One step with so many keys.
  void push(Key keys) {
    auto const own = std::make_shared<std::pair<std::vector<Key>, std::vector<float>>>();
    for (Key key = 0; key < keys; ++key) own->first.push_back(key);
    own->second.resize(own->first.size() * table_.dim, 1.0F);
    for (auto& server : all_) {
      server->apply(PushRows{table_id(table_.name), 0, 1, true, 0, own->first, own->second, own});
    }
  }

  /// Steps [first, last), each with some keys of its own and some of all.
  void train(std::uint64_t first, std::uint64_t last) {
    for (auto step = first; step < last; ++step) {
      auto const own = std::make_shared<std::pair<std::vector<Key>, std::vector<float>>>();
      for (Key key = 0; key < 300; ++key) {
        if (mix(key ^ mix(step)) % 4 == 0) own->first.push_back(key * 7919);
      }
      for (std::size_t i = 0; i < own->first.size() * table_.dim; ++i) {
        own->second.push_back(static_cast<float>(mix(step * 1000 + i) % 100) * 0.01F - 0.5F);
      }
      for (auto& server : all_) {
        server->apply(PushRows{table_id(table_.name), 0, 1, true, 0, own->first, own->second, own});
      }
    }
  }

  Checkpoint save(std::string const& directory, std::uint64_t pass, std::optional<CheckpointBase> base = {}) {
    PendingCheckpoint pending(directory, pass, "test");
    Manifest manifest{.servers = static_cast<std::uint32_t>(all_.size()), .base = base, .tables = {{.spec = table_}}};
    for (auto& server : all_) {
      Gate marked;
      server->saving.cut(pending.path(), base ? pass_name(base->pass) : "", true, [&](Error const*) { marked.open(); });
      EXPECT_TRUE(marked.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
      add_part(manifest, part_from_json(server->wait().result, "server"));
      Gate kept;
      server->saving.keep_cut(pending.path(), pass_name(pass), [&](Error const*) { kept.open(); });
      EXPECT_TRUE(kept.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    }
    return pending.commit(std::move(manifest));
  }

  /// What went wrong on the first server that could not; empty when all could.
  std::string load(std::string const& path) {
    std::string failed;
    for (auto& server : all_) {
      server->saving.load(path);
      auto const state = server->wait();
      EXPECT_TRUE(state.done);
      if (state.failed && failed.empty()) failed = state.failed->what();
    }
    return failed;
  }

  /// A row for every key, and how many keys have one.
  std::pair<std::vector<float>, std::size_t> weights() {
    std::vector<Key> keys(300);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7919;
    std::pair<std::vector<float>, std::size_t> all{std::vector<float>(keys.size() * table_.dim), 0};
    for (auto& server : all_) {
      Gate done;
      server->engine.read([&](ShardGroup const& group) { group.pull(table_id(table_.name), keys, all.first); },
                          [&](Error const*) { done.open(); });
      EXPECT_TRUE(done.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
      all.second += server->rows(table_.name);
    }
    return all;
  }

 private:
  SparseSpec table_;
  std::vector<std::unique_ptr<OneServer>> all_;
};

SparseSpec half_rows(Admission::Kind kind) {
  return {.name = "half",
          .dim = 8,
          .optimizer = Adagrad{.rate = 0.1F},
          .init = Initializer::uniform(-1, 1),
          .apply = ApplyRule::gather,
          .precision = Precision::bf16,
          .admission = {.kind = kind, .pushes = 3, .capacity = 2000}};
}

TEST(Saving, WritesItsShardsAndLoadsThemBack) {
  TempDir const dir;
  SparseSpec const table{.name = "t", .dim = 2, .optimizer = Adagrad{}, .init = Initializer::uniform(-1, 1)};
  Servers two(2, table), same(2, table), three(3, table);
  two.train(0, 6);
  auto const saved = two.save(dir.path().native(), 0);
  auto const [weights, rows] = two.weights();
  EXPECT_GT(rows, 100U);
  std::uint64_t written = 0;
  for (auto const& part : saved.manifest.parts) {
    PartReader const reader(saved.part_path(part));
    EXPECT_GT(reader.rows(), 0U);
    written += reader.rows();
  }
  EXPECT_EQ(saved.manifest.parts.size(), 2U);
  EXPECT_EQ(written, rows);
  for (auto* const servers : {&same, &three}) {
    EXPECT_NE(servers->weights().first, weights);
    EXPECT_EQ(servers->load(saved.path), "");
    EXPECT_EQ(servers->weights(), std::pair(weights, rows));
    // With their state: they go on as the others do.
    servers->train(6, 8);
  }
  two.train(6, 8);
  EXPECT_EQ(same.weights(), two.weights());
  EXPECT_EQ(three.weights(), two.weights());
}

TEST(Saving, ChangesAndAllThatIsNoRowGoOnOnOtherServers) {
  for (auto const kind : {Admission::Kind::count, Admission::Kind::bloom}) {
    TempDir const dir;
    auto const directory = dir.path().native();
    Servers alone(2, half_rows(kind)), others(3, half_rows(kind));
    alone.train(0, 8);
    auto const full = alone.save(directory, 0);
    alone.train(8, 10);
    auto const changed = alone.save(directory, 1, CheckpointBase{0, full.id});
    others.train(50, 53);  // goes with the load
    EXPECT_EQ(others.load(changed.path), "");
    EXPECT_EQ(others.weights(), alone.weights());
    auto const before = alone.weights().second;
    alone.train(10, 14);
    others.train(10, 14);
    EXPECT_EQ(others.weights(), alone.weights());
    EXPECT_GT(alone.weights().second, before) << "some were half-way in";
  }
}

TEST(Saving, ADamagedAdmissionBlockIsNamedAndTheOneBeforeGoesOn) {
  TempDir const dir;
  auto const directory = dir.path().native();
  Servers servers(2, half_rows(Admission::Kind::count));
  servers.train(0, 4);
  auto const first = servers.save(directory, 0);
  servers.train(4, 6);
  auto const second = servers.save(directory, 1);
  auto const part = second.part_path(second.manifest.parts[1]);
  std::uint64_t at = 0;
  PartReader const reader(part);
  for (auto const& block : reader.blocks()) {
    if (block.kind == BlockKind::admission) at = block.offset + sizeof block + 1;
  }
  ASSERT_NE(at, 0U);
  {
    std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x77');
  }
  Servers mended(3, half_rows(Admission::Kind::count)), fresh(3, half_rows(Admission::Kind::count));
  auto const said = mended.load(second.path);
  EXPECT_TRUE(holds(said, "prdist[checkpoint.damaged] " + part + ", at byte ")) << said;
  EXPECT_TRUE(holds(said, "the block of table 'half', shard ")) << said;
  EXPECT_TRUE(holds(said, ": restore the file from a copy, or load an older checkpoint")) << said;
  EXPECT_EQ(mended.load(first.path), "");
  EXPECT_EQ(fresh.load(first.path), "");
  mended.train(4, 9);
  fresh.train(4, 9);
  EXPECT_EQ(mended.weights(), fresh.weights()) << "something of the damaged one was left";
  std::filesystem::resize_file(part, at);
  EXPECT_TRUE(holds(fresh.load(second.path), "has no closing record, so it was cut off or never finished"));
}

TEST(Saving, AnotherRuleOfAdmissionIsToldAndCountsAnew) {
  TempDir const dir;
  Servers counted(1, half_rows(Admission::Kind::count)), bloom(1, half_rows(Admission::Kind::bloom));
  counted.train(0, 2);
  EXPECT_EQ(counted.weights().second, 0U);
  auto const saved = counted.save(dir.path().native(), 0);
  CaughtLog const log;
  EXPECT_EQ(bloom.load(saved.path), "");
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_EQ(log.lines()[0], "server 0: table 'half' admits keys by another rule than in " + saved.path +
                                ": what is known of keys without a row begins anew");
  bloom.train(2, 4);
  EXPECT_EQ(bloom.weights().second, 0U) << "two pushes are not three";
}

TEST(Saving, AFolderThatIsNotThereIsNamedAtOnce) {
  OneServer server(0);
  auto const error = thrown([&] { server.saving.cut("/nonexistent/folder", "", true, [](Error const*) {}); });
  EXPECT_EQ(error.code(), Errc::checkpoint_file);
  EXPECT_TRUE(holds(error.what(), "/nonexistent/folder/part-000"));
}

TEST(Saving, WhatHasChangedIsToldOnlySinceTheCutThatWasKeptLast) {
  TempDir const dir;
  auto const path = dir.path().native();
  OneServer server(0);
  server.declare(spec);
  auto const cut = [&](std::string const& since) {
    Gate marked;
    server.saving.cut(path, since, true, [&](Error const*) { marked.open(); });
    EXPECT_TRUE(marked.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    EXPECT_FALSE(server.wait().failed);
  };
  auto const keep = [&](std::string const& folder, std::string const& name) {
    Gate kept;
    server.saving.keep_cut(folder, name, [&](Error const*) { kept.open(); });
    EXPECT_TRUE(kept.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  };
  EXPECT_EQ(server.kept_cut(), "");
  EXPECT_EQ(thrown([&] { cut("first"); }).what(),
            std::string("prdist[job.state] what has changed since 'first' is asked for, and the cut that was kept last "
                        "is '': ask for all rows"));
  cut("");
  EXPECT_EQ(thrown([&] { keep("elsewhere", "first"); }).what(),
            concat("prdist[job.state] the cut for elsewhere is to be kept, and the last one was for '", path, "'"));
  EXPECT_EQ(server.kept_cut(), "");
  keep(path, "first");
  EXPECT_EQ(server.kept_cut(), "first");
  EXPECT_EQ(thrown([&] { keep(path, "again"); }).code(), Errc::job_state) << "it is kept already";
  cut("first");  // its checkpoint is not completed: the one before is still the last
  EXPECT_EQ(server.kept_cut(), "first");
  EXPECT_EQ(thrown([&] { cut("second"); }).code(), Errc::job_state);
  cut("first");
  keep(path, "second");
  EXPECT_EQ(thrown([&] { cut("first"); }).code(), Errc::job_state);
  cut("second");
  server.saving.load("/nonexistent/pass-00000");
  EXPECT_TRUE(server.wait().failed);
  EXPECT_EQ(server.kept_cut(), "") << "nobody knows what the rows are now";
  EXPECT_EQ(thrown([&] { keep(path, "third"); }).code(), Errc::job_state);
}

TEST(Saving, WhatIsNotToBeKeptCannotBeAndLeavesTheOneBefore) {
  TempDir const dir;
  auto const path = dir.path().native();
  OneServer server(0);
  server.declare(spec);
  auto const cut = [&](bool to_be_kept) {
    Gate marked;
    server.saving.cut(path, "", to_be_kept, [&](Error const*) { marked.open(); });
    EXPECT_TRUE(marked.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    EXPECT_FALSE(server.wait().failed);
  };
  cut(true);
  Gate kept;
  server.saving.keep_cut(path, "first", [&](Error const*) { kept.open(); });
  EXPECT_TRUE(kept.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  cut(false);
  EXPECT_EQ(thrown([&] { server.saving.keep_cut(path, "second", [](Error const*) {}); }).what(),
            concat("prdist[job.state] the cut for ", path, " is to be kept, and the last one was for ''"));
  EXPECT_EQ(server.kept_cut(), "first");
}

// A checkpoint of changes could not say which keys have gone: the next one has to hold all rows.
TEST(Saving, TooManyRowsThatWentMakeTheKeptCutUnknown) {
  TempDir const dir;
  SparseSpec const large{.name = "t", .dim = 8, .optimizer = Adagrad{}, .eviction = Eviction::lru};
  OneServer server(0, 1, 1, std::size_t{8} << 20);
  server.declare(large);
  auto const push = [&](Key first) {
    auto const own = std::make_shared<std::pair<std::vector<Key>, std::vector<float>>>();
    for (Key key = 0; key < 20'000; ++key) own->first.push_back(first + key);
    own->second.resize(own->first.size() * large.dim, 1.0F);
    server.apply(PushRows{table_id(large.name), 0, 1, true, 0, own->first, own->second, own});
  };
  auto const path = dir.path().native();
  auto const save = [&](std::string const& name) {
    Gate marked, kept;
    server.saving.cut(path, "", true, [&](Error const*) { marked.open(); });
    EXPECT_TRUE(marked.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    EXPECT_FALSE(server.wait().failed);
    server.saving.keep_cut(path, name, [&](Error const*) { kept.open(); });
    EXPECT_TRUE(kept.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  };
  push(0);
  save("first");
  EXPECT_EQ(server.kept_cut(), "first");
  for (Key round = 1; round < 20; ++round) push(round * 20'000);
  EXPECT_EQ(server.kept_cut(), "");
  save("second");
  EXPECT_EQ(server.kept_cut(), "second");
}

TEST(Saving, WhatCannotBeLoadedIsToldInItsState) {
  OneServer server(0);
  server.saving.load("/nonexistent/pass-00000");
  auto const state = server.wait();
  ASSERT_TRUE(state.failed);
  EXPECT_TRUE(holds(state.failed->what(), "/nonexistent/pass-00000"));
}

// Into less memory than it was saved from: the job may go on, and knows what it costs.
TEST(Saving, RowsThatHaveNoRoomAreTold) {
  TempDir const dir;
  SparseSpec const large{.name = "t", .dim = 64, .optimizer = Adagrad{}, .eviction = Eviction::lru};
  Servers servers(1, large);
  servers.push(40'000);
  auto const checkpoint = servers.save(dir.path().native(), 0);
  OneServer small(0, 1, 1, std::size_t{8} << 20);
  small.declare(large);
  CaughtLog log;
  small.saving.load(checkpoint.path);
  EXPECT_FALSE(small.wait().failed);
  EXPECT_LT(small.rows("t"), 40'000U);
  ASSERT_EQ(log.lines().size(), 1U);
  // How many depends on what the server lets go beside the load, for pushes to come.
  EXPECT_TRUE(holds(log.lines().front(),
                    concat(" of 40000 rows of ", checkpoint.path,
                           " had no room below the memory ceiling and went by the tables' eviction policy: raise "
                           "PRDIST_SERVER_MEMORY_MB, or use more servers")))
      << log.lines().front();
}

}  // namespace
}  // namespace prdist::test
