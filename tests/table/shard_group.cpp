#include <prdist/table/shard_group.hpp>

#include <gtest/gtest.h>

#include <bitset>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../support/random.hpp"
#include "../support/thrown.hpp"
#include "cut_support.hpp"

using namespace prdist;
using test::Random;

namespace {

constexpr TableId sparse_id = 1, dense_id = 2;
constexpr std::size_t dim = 4;

SparseSpec sparse_spec(ApplyRule apply, Optimizer optimizer = Adam{.rate = 0.01F}) {
  return {.name = "embedding",
          .dim = dim,
          .optimizer = std::move(optimizer),
          .init = Initializer::uniform(-0.1F, 0.1F),
          .apply = apply,
          .seed = 1};
}

DenseSpec dense_spec(ApplyRule apply, Optimizer optimizer = Adam{.rate = 0.01F}) {
  return {.name = "dense",
          .parts = {{"w", 2 * range_floats + 9, Initializer::normal(0, 1)}},
          .optimizer = std::move(optimizer),
          .apply = apply,
          .seed = 1};
}

DeclareDense declare(DenseSpec const& spec) {
  return {dense_id, spec, Placement(1).ranges_of(hash_name(spec.name), spec.size(), 0)};
}

/// A push that owns its keys and gradients.
PushRows rows_of(std::uint32_t trainer, std::vector<Key> keys, std::vector<float> gradients, Ticket ticket = 0,
                 bool last = true, std::uint32_t weight = 1) {
  auto const own =
      std::make_shared<std::pair<std::vector<Key>, std::vector<float>>>(std::move(keys), std::move(gradients));
  return {sparse_id, trainer, weight, last, ticket, own->first, own->second, own};
}

PushDense dense_of(std::uint32_t trainer, std::vector<float> gradients, Ticket ticket = 0, std::uint32_t weight = 1) {
  auto const own = std::make_shared<std::vector<float>>(std::move(gradients));
  return {dense_id, trainer, weight, true, ticket, 0, range_count(own->size()), *own, own};
}

/// Some groups that share the shards, told the same commands as the threads of a server are.
class Groups {
 public:
  Groups(std::size_t count, std::uint32_t trainers) {
    for (std::size_t g = 0; g < count; ++g) {
      std::bitset<shard_count> owned;
      for (std::size_t shard = 0; shard < shard_count; ++shard) owned[shard] = shard % count == g;
      groups_.push_back(std::make_unique<ShardGroup>(owned, trainers));
    }
  }

  /// The tickets that a group releases; the same in each.
  std::vector<Ticket> apply(Command const& command) {
    std::vector<Ticket> first;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<Ticket> released;
      groups_[g]->apply(command, released);
      if (g == 0) first = released;
      EXPECT_EQ(released, first) << "group " << g;
    }
    return first;
  }

  std::vector<float> pull(std::vector<Key> const& keys) const {
    std::vector<float> rows(keys.size() * dim, -99.0F);
    for (auto const& group : groups_) group->pull(sparse_id, keys, rows);
    return rows;
  }
  std::vector<float> pull_dense(std::size_t size) const {
    std::vector<float> weights(size, -99.0F);
    for (auto const& group : groups_) group->pull_dense(dense_id, 0, range_count(size), weights);
    return weights;
  }
  std::size_t rows() const {
    std::size_t sum = 0;
    for (auto const& group : groups_) sum += group->rows(sparse_id);
    return sum;
  }
  ShardGroup& operator[](std::size_t g) { return *groups_[g]; }

 private:
  std::vector<std::unique_ptr<ShardGroup>> groups_;
};

std::vector<Key> random_keys(Random& random, std::size_t count, std::size_t distinct) {
  std::vector<Key> keys(count);
  for (auto& key : keys) key = random.below(distinct);
  return keys;
}

/// A job of two trainers in all its variety, as commands.
std::vector<Command> history(ApplyRule apply) {
  auto const dense = dense_spec(apply);
  std::vector<Command> commands{DeclareSparse{sparse_id, sparse_spec(apply)}, declare(dense)};
  Random random(11);
  for (int step = 0; step < 6; ++step) {
    for (std::uint32_t trainer = 0; trainer < 2; ++trainer) {
      auto const count = random.below(300);
      bool const in_two = step % 2 == 0;
      auto keys = random_keys(random, count, 500);
      auto gradients = random.numbers(count * dim);
      commands.emplace_back(rows_of(trainer, keys, gradients, commands.size(), !in_two, 3 + trainer));
      if (in_two) commands.emplace_back(rows_of(trainer, keys, gradients, commands.size(), true, 3 + trainer));
      commands.emplace_back(dense_of(trainer, random.numbers(dense.size()), commands.size(), 3 + trainer));
    }
    if (step == 3) {
      auto const weights = std::make_shared<std::vector<float>>(random.numbers(range_floats));
      commands.emplace_back(AssignDense{dense_id, 1, 1, *weights, weights});
    }
  }
  commands.emplace_back(Leave{1});
  commands.emplace_back(rows_of(0, {1, 2, 3}, random.numbers(3 * dim), commands.size()));
  return commands;
}

std::vector<Key> asked_keys() {
  std::vector<Key> keys(600);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  return keys;
}

}  // namespace

TEST(ShardGroup, TheNumberOfThreadsDoesNotMatter) {
  for (auto const apply : {ApplyRule::immediate, ApplyRule::gather}) {
    Groups one(1, 2), three(3, 2), many(7, 2);
    for (auto const& command : history(apply)) {
      auto const released = one.apply(command);
      EXPECT_EQ(three.apply(command), released);
      EXPECT_EQ(many.apply(command), released);
    }
    auto const size = dense_spec(apply).size();
    EXPECT_EQ(three.pull(asked_keys()), one.pull(asked_keys()));
    EXPECT_EQ(many.pull(asked_keys()), one.pull(asked_keys()));
    EXPECT_EQ(three.pull_dense(size), one.pull_dense(size));
    EXPECT_EQ(many.pull_dense(size), one.pull_dense(size));
    EXPECT_EQ(three.rows(), one.rows());
    EXPECT_GT(one.rows(), 300U);
  }
}

TEST(ShardGroup, TheSameCommandsGiveTheSameBytes) {
  for (auto const apply : {ApplyRule::immediate, ApplyRule::gather}) {
    std::vector<float> first, first_dense;
    for (int run = 0; run < 2; ++run) {
      Groups group(1, 2);
      for (auto const& command : history(apply)) group.apply(command);
      auto const rows = group.pull(asked_keys()), dense = group.pull_dense(dense_spec(apply).size());
      if (run == 0) {
        first = rows;
        first_dense = dense;
      }
      EXPECT_EQ(std::memcmp(rows.data(), first.data(), rows.size() * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(dense.data(), first_dense.data(), dense.size() * sizeof(float)), 0);
    }
  }
}

TEST(ShardGroup, ImmediatePushesAreAppliedAndReleasedAtOnce) {
  Groups group(1, 2);
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::immediate, Sgd{.rate = 1})});
  auto const before = group.pull({7});
  EXPECT_EQ(group.rows(), 0U) << "a pull inserts nothing";
  EXPECT_EQ(group.apply(rows_of(0, {7}, {1, 1, 1, 1}, 42)), (std::vector<Ticket>{42}));
  auto const after = group.pull({7});
  for (std::size_t k = 0; k < dim; ++k) EXPECT_EQ(after[k], before[k] - 1);
  EXPECT_EQ(group.rows(), 1U);
  EXPECT_EQ(group.apply(rows_of(0, {}, {}, 43)), (std::vector<Ticket>{43})) << "an empty push is acknowledged";
  EXPECT_TRUE(group[0].missing(sparse_id).empty());
}

TEST(ShardGroup, GatheredPushesWaitForEveryTrainer) {
  Groups group(2, 3);
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather)});
  auto const before = group.pull({7});
  EXPECT_TRUE(group.apply(rows_of(1, {7}, {1, 1, 1, 1}, 101)).empty());
  EXPECT_TRUE(group.apply(rows_of(2, {7}, {1, 1, 1, 1}, 102)).empty());
  EXPECT_EQ(group.pull({7}), before);
  EXPECT_EQ(group.rows(), 0U);
  EXPECT_EQ(group[0].missing(sparse_id), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(group[1].missing(sparse_id), (std::vector<std::uint32_t>{0})) << "also where none of the keys lie";
  // An empty push counts too: a trainer whose batch has no key on this server.
  EXPECT_EQ(group.apply(rows_of(0, {}, {}, 100)), (std::vector<Ticket>{100, 101, 102}));
  EXPECT_NE(group.pull({7}), before);
  EXPECT_TRUE(group[0].missing(sparse_id).empty());
}

TEST(ShardGroup, TheOrderOfArrivalDoesNotMatterBitForBit) {
  for (int kind = 0; kind < 2; ++kind) {
    auto const run = [&](std::vector<std::uint32_t> const& order) {
      Groups group(1, 3);
      auto const dense = dense_spec(ApplyRule::gather);
      group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather)});
      group.apply(declare(dense));
      for (int step = 0; step < 4; ++step) {
        for (auto const trainer : order) {
          Random random(static_cast<std::uint64_t>(step) * 3 + trainer);
          // Numbers of very different size, so that a sum in another order is another float.
          auto keys = random_keys(random, 200, 50);
          auto gradients = random.numbers(200 * dim);
          for (auto& each : gradients) each *= std::pow(10.0F, static_cast<float>(trainer) * 3 - 3);
          auto wide = random.numbers(dense.size());
          for (auto& each : wide) each *= std::pow(10.0F, static_cast<float>(trainer) * 3 - 3);
          if (kind == 0) group.apply(rows_of(trainer, keys, gradients, 0, true, trainer + 1));
          if (kind == 1) group.apply(dense_of(trainer, wide, 0, trainer + 1));
        }
      }
      return kind == 0 ? group.pull(asked_keys()) : group.pull_dense(dense.size());
    };
    auto const expected = run({0, 1, 2});
    EXPECT_EQ(run({2, 1, 0}), expected);
    EXPECT_EQ(run({1, 2, 0}), expected);
  }
}

TEST(ShardGroup, LeaveReleasesWhatOthersWaitFor) {
  Groups group(1, 2);
  auto const dense = dense_spec(ApplyRule::gather, Sgd{.rate = 1});
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather, Sgd{.rate = 1})});
  group.apply(declare(dense));
  auto const row = group.pull({7});
  auto const weights = group.pull_dense(dense.size());
  EXPECT_TRUE(group.apply(rows_of(0, {7}, {1, 1, 1, 1}, 5)).empty());
  EXPECT_TRUE(group.apply(dense_of(0, std::vector<float>(dense.size(), 1.0F), 6)).empty());
  EXPECT_EQ(group.apply(Leave{1}), (std::vector<Ticket>{5, 6}));
  EXPECT_EQ(group.pull({7})[0], row[0] - 1) << "the whole share is the one's that is left";
  EXPECT_EQ(group.pull_dense(dense.size())[range_floats], weights[range_floats] - 1);
  EXPECT_EQ(group.apply(rows_of(0, {7}, {1, 1, 1, 1}, 7)), (std::vector<Ticket>{7}));
  EXPECT_TRUE(group.apply(Leave{1}).empty()) << "leaving twice is leaving";
  EXPECT_TRUE(group.apply(Leave{0}).empty());
}

TEST(ShardGroup, PartsOfOneThatLeftCountInTheirStep) {
  Groups group(1, 2);
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather, Sgd{.rate = 1})});
  auto const before = group.pull({7})[0];
  EXPECT_TRUE(group.apply(rows_of(1, {7}, {4, 4, 4, 4}, 11)).empty());
  EXPECT_TRUE(group.apply(Leave{1}).empty()) << "trainer 0 has not given its part";
  EXPECT_EQ(group.apply(rows_of(0, {7}, {2, 2, 2, 2}, 1)), (std::vector<Ticket>{1, 11}));
  EXPECT_EQ(group.pull({7})[0], before - 3);
}

// What Strategy<Sync> promises: N trainers with batch B train as one with batch N * B.
TEST(ShardGroup, ASynchronousStepOfManyIsOneStepOfTheWholeBatch) {
  constexpr std::uint32_t trainers = 4;
  constexpr std::size_t steps = 30, distinct = 40;
  for (Optimizer const& rule : {Optimizer(Sgd{.rate = 0.1F}), Optimizer(Adagrad{.rate = 0.1F}),
                                Optimizer(Adam{.rate = 0.01F}), Optimizer(Momentum{.rate = 0.05F})}) {
    Groups many(3, trainers), one(1, 1);
    many.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather, rule)});
    one.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather, rule)});
    Random random(21);
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<std::vector<Key>> keys;
      std::vector<std::vector<float>> gradients;  // of the mean loss of each trainer's own examples
      std::vector<std::uint32_t> examples;
      double all = 0;
      for (std::uint32_t t = 0; t < trainers; ++t) {
        examples.push_back(static_cast<std::uint32_t>(1 + random.below(64)));
        keys.push_back(random_keys(random, 20, distinct));
        gradients.push_back(random.numbers(20 * dim));
        all += examples.back();
      }
      std::vector<std::vector<double>> mean(distinct, std::vector<double>(dim));
      std::vector<bool> present(distinct);
      for (std::uint32_t t = 0; t < trainers; ++t) {
        many.apply(rows_of(t, keys[t], gradients[t], 0, true, examples[t]));
        for (std::size_t i = 0; i < keys[t].size(); ++i) {
          present[keys[t][i]] = true;
          for (std::size_t k = 0; k < dim; ++k) {
            mean[keys[t][i]][k] += examples[t] / all * double{gradients[t][i * dim + k]};
          }
        }
      }
      std::vector<Key> whole_keys;
      std::vector<float> whole;
      for (Key key = 0; key < distinct; ++key) {
        if (!present[key]) continue;
        whole_keys.push_back(key);
        for (auto const each : mean[key]) whole.push_back(static_cast<float>(each));
      }
      one.apply(rows_of(0, whole_keys, whole, 0, true, static_cast<std::uint32_t>(all)));
    }
    std::vector<Key> every(distinct);
    for (Key key = 0; key < distinct; ++key) every[key] = key;
    auto const distributed = many.pull(every), local = one.pull(every);
    for (std::size_t i = 0; i < local.size(); ++i) {
      ASSERT_NEAR(distributed[i], local[i], 1e-5) << name_of(rule) << ", element " << i;
    }
  }
}

TEST(ShardGroup, ASecondDeclarationOfATableChangesNothing) {
  Groups group(1, 1);
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::immediate)});
  group.apply(rows_of(0, {7}, {1, 1, 1, 1}));
  auto const row = group.pull({7});
  auto other = sparse_spec(ApplyRule::immediate);
  other.seed = 99;
  group.apply(DeclareSparse{sparse_id, other});
  EXPECT_EQ(group.pull({7}), row);
  EXPECT_EQ(group.rows(), 1U);
}

TEST(ShardGroup, ReadingATableThatWasNotDeclaredIsRefused) {
  Groups group(1, 1);
  EXPECT_EQ(test::thrown([&] { (void)group.pull({7}); }).code(), Errc::table_unknown);
  EXPECT_EQ(test::thrown([&] { (void)group.pull_dense(10); }).code(), Errc::table_unknown);
  EXPECT_EQ(group.rows(), 0U);
  EXPECT_TRUE(group[0].missing(sparse_id).empty());
}

TEST(ShardGroup, WritingATableThatWasNotDeclaredIsRefused) {
  Groups group(1, 1);
  for (Command const& command :
       std::vector<Command>{rows_of(0, {7}, {1, 1, 1, 1}), dense_of(0, {1}), AssignDense{dense_id, 0, 0, {}, {}}}) {
    auto const error = test::thrown([&] { group.apply(command); });
    EXPECT_EQ(error.code(), Errc::table_unknown);
    EXPECT_TRUE(test::holds(error.what(), "was not declared to this server"));
  }
}

TEST(ShardGroup, CountsItsMemory) {
  Groups group(1, 1);
  EXPECT_EQ(group[0].bytes(), 0U);
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::immediate)});
  auto const empty = group[0].bytes();
  EXPECT_GT(empty, 0U);
  Random random(31);
  std::vector<Key> keys(100000);
  for (auto& key : keys) key = random.bits();
  group.apply(rows_of(0, keys, random.numbers(keys.size() * dim)));
  // Adam's row of four is 14 floats and the key: 64 bytes, and some 15 beside it.
  EXPECT_GT(group[0].bytes(), keys.size() * 64);
  EXPECT_LT(group[0].bytes(), empty + keys.size() * 110);
}

namespace {

/// Bytes of everything a group holds, by table and key.
std::vector<RowBlock> everything(ShardGroup& group) {
  test::Collector sink;
  group.begin_cut(CutKind::full, sink);
  while (group.advance_cut(1000)) {
  }
  group.cancel_cut();
  return std::move(sink.blocks);
}

void expect_same(std::vector<RowBlock> const& left, std::vector<RowBlock> const& right) {
  for (auto const table : {sparse_id, dense_id}) {
    EXPECT_EQ(test::rows_in(left, table), test::rows_in(right, table)) << "table " << table;
  }
}

std::bitset<shard_count> every_shard() {
  return std::bitset<shard_count>().set();
}

}  // namespace

TEST(ShardGroup, ACutHoldsTheMomentOfItsMarkerWhileCommandsGoOn) {
  for (auto const apply : {ApplyRule::immediate, ApplyRule::gather}) {
    auto const commands = history(apply);
    for (std::size_t marker = 2; marker < commands.size(); marker += 5) {
      ShardGroup group(every_shard(), 2), stopped(every_shard(), 2);
      std::vector<Ticket> released;
      for (std::size_t i = 0; i < marker; ++i) {
        group.apply(commands[i], released);
        stopped.apply(commands[i], released);
      }
      test::Collector sink;
      group.begin_cut(CutKind::full, sink);
      for (std::size_t i = marker; i < commands.size(); ++i) {
        group.apply(commands[i], released);
        (void)group.advance_cut(40);
      }
      while (group.advance_cut(1000)) {
      }
      group.keep_cut();
      expect_same(sink.blocks, everything(stopped));
      // Into groups that share the shards in another way.
      Groups three(3, 2);
      three.apply(commands[0]);
      three.apply(commands[1]);
      for (std::size_t g = 0; g < 3; ++g) {
        for (auto const& block : sink.blocks) three[g].load(block);
      }
      std::vector<float> rows(asked_keys().size() * dim), dense(dense_spec(apply).size());
      stopped.pull(sparse_id, asked_keys(), rows);
      stopped.pull_dense(dense_id, 0, range_count(dense.size()), dense);
      EXPECT_EQ(three.pull(asked_keys()), rows);
      EXPECT_EQ(three.pull_dense(dense.size()), dense);
      EXPECT_EQ(three.rows(), stopped.rows(sparse_id));
    }
  }
}

TEST(ShardGroup, ChangedCutsHoldDenseRangesThatChanged) {
  ShardGroup group(every_shard(), 1);
  std::vector<Ticket> released;
  auto const dense = dense_spec(ApplyRule::immediate);
  group.apply(declare(dense), released);
  test::Collector full, changed, again;
  group.begin_cut(CutKind::changed, full);
  while (group.advance_cut(1)) {
  }
  group.keep_cut();
  EXPECT_EQ(test::rows_in(full.blocks, dense_id).size(), 3U) << "there is none to start from";
  std::vector<float> const weights(range_floats, 4.0F);
  group.apply(AssignDense{dense_id, 1, 1, weights, nullptr}, released);
  group.begin_cut(CutKind::changed, changed);
  EXPECT_EQ(group.advance_cut(1), true);
  group.apply(AssignDense{dense_id, 1, 1, std::vector<float>(range_floats, 5.0F), nullptr}, released);
  group.apply(AssignDense{dense_id, 0, 1, std::vector<float>(range_floats, 6.0F), nullptr}, released);
  while (group.advance_cut(1)) {
  }
  group.keep_cut();
  auto const rows = test::rows_in(changed.blocks, dense_id);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.begin()->first, 1U);
  float first = 0;
  std::memcpy(&first, rows.begin()->second.data(), sizeof first);
  EXPECT_EQ(first, 4.0F) << "as at the marker";
  group.begin_cut(CutKind::changed, again);
  while (group.advance_cut(1)) {
  }
  EXPECT_EQ(test::rows_in(again.blocks, dense_id).size(), 2U);
}

// A table at its ceiling lets rows go as fast as new ones come: what is noted of them must have an end.
TEST(ShardGroup, NotesOfRowsThatWentStayBelowAShareOfTheCeiling) {
  constexpr std::size_t ceiling = std::size_t{16} << 20;
  auto evicting = sparse_spec(ApplyRule::immediate);
  evicting.eviction = Eviction::lru;
  auto const push_many = [](ShardGroup& group, Key from) {
    std::vector<Ticket> released;
    std::vector<Key> keys(20'000);
    for (Key round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = from + round * keys.size() + i;
      group.apply(rows_of(0, keys, std::vector<float>(keys.size() * dim, 1.0F)), released);
    }
    EXPECT_GT(group.evicted(sparse_id), 0U);
  };
  auto const cut_as = [](ShardGroup& group, CutKind kind) {
    test::Collector sink;
    group.begin_cut(kind, sink);
    while (group.advance_cut(100'000)) {
    }
    group.keep_cut();
  };
  std::vector<Ticket> released;
  ShardGroup copied(every_shard(), 1, ceiling);
  copied.apply(DeclareSparse{sparse_id, evicting}, released);
  push_many(copied, 0);
  auto const tables = copied.bytes();
  cut_as(copied, CutKind::copy);
  push_many(copied, 1'000'000);
  EXPECT_EQ(copied.bytes(), tables) << "no other cut builds on a copy";
  EXPECT_FALSE(copied.forgot());
  {
    ShardGroup two(every_shard(), 1, ceiling);
    two.apply(DeclareSparse{sparse_id, evicting}, released);
    two.apply(rows_of(0, {1, 2}, std::vector<float>(2 * dim, 1.0F)), released);
    cut_as(two, CutKind::copy);
    test::Collector sink;
    two.begin_cut(CutKind::changed, sink);
    while (two.advance_cut(1000)) {
    }
    EXPECT_EQ(test::rows_in(sink.blocks, sparse_id).size(), 2U) << "there is still none to start from";
  }

  ShardGroup kept(every_shard(), 1, ceiling);
  kept.apply(DeclareSparse{sparse_id, evicting}, released);
  push_many(kept, 0);
  cut_as(kept, CutKind::full);
  push_many(kept, 1'000'000);
  EXPECT_TRUE(kept.forgot());
  EXPECT_LE(kept.bytes(), ceiling + ceiling / 16);
  auto const error = test::thrown([&] { cut_as(kept, CutKind::changed); });
  EXPECT_EQ(error.code(), Errc::job_state);
  EXPECT_STREQ(error.what(),
               "prdist[job.state] more keys have gone since the last cut than there is memory to note: ask for all "
               "rows");
  cut_as(kept, CutKind::full);
  EXPECT_FALSE(kept.forgot());
  cut_as(kept, CutKind::changed);
}

TEST(ShardGroup, AnErrorOfTheSinkEndsTheCutAndNothingElse) {
  for (bool const by_push : {true, false}) {
    ShardGroup group(every_shard(), 1);
    std::vector<Ticket> released;
    group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::immediate)}, released);
    group.apply(declare(dense_spec(ApplyRule::immediate)), released);
    Random random(5);
    group.apply(rows_of(0, asked_keys(), random.numbers(asked_keys().size() * dim)), released);
    test::Collector full_disk;
    full_disk.fails_after = 0;
    group.begin_cut(CutKind::changed, full_disk);
    if (by_push) group.apply(dense_of(0, random.numbers(dense_spec(ApplyRule::immediate).size()), 8), released);
    auto const error = test::thrown([&] {
      while (group.advance_cut(100)) {
      }
    });
    EXPECT_STREQ(error.what(), "prdist[data.file] the disk is full");
    EXPECT_FALSE(group.advance_cut(100)) << "it is over";
    EXPECT_EQ(released.size(), by_push ? 2U : 1U) << "the push was applied";
    test::Collector sink;
    group.begin_cut(CutKind::changed, sink);
    while (group.advance_cut(100)) {
    }
    EXPECT_EQ(test::rows_in(sink.blocks, sparse_id).size(), 600U);
    EXPECT_EQ(test::rows_in(sink.blocks, dense_id).size(), 3U);
  }
}

TEST(ShardGroup, ASinkThatIsNotReadyIsLeftInPeace) {
  ShardGroup group(every_shard(), 1);
  std::vector<Ticket> released;
  group.apply(declare(dense_spec(ApplyRule::immediate)), released);
  test::Collector sink;
  sink.is_ready = false;
  group.begin_cut(CutKind::full, sink);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(group.advance_cut(1000));
  EXPECT_TRUE(sink.blocks.empty());
  group.apply(AssignDense{dense_id, 0, 1, std::vector<float>(range_floats), nullptr}, released);
  EXPECT_EQ(sink.blocks.size(), 1U) << "what is about to change cannot wait";
  sink.is_ready = true;
  while (group.advance_cut(1000)) {
  }
  EXPECT_EQ(sink.blocks.size(), 3U);
}

namespace {

/// What tables may be asked for beyond rows of floats; each with something to remember beside the rows.
std::vector<SparseSpec> specs_with_memory(ApplyRule apply) {
  using Kind = Admission::Kind;
  std::vector<SparseSpec> specs;
  for (auto const precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    for (auto const kind : {Kind::all, Kind::count, Kind::probability, Kind::bloom}) {
      auto spec = sparse_spec(apply);
      spec.precision = precision;
      spec.admission = {.kind = kind, .pushes = 3, .probability = 0.3, .capacity = 1000};
      specs.push_back(spec);
    }
  }
  specs.push_back(specs.back());
  specs.back().statistics = {.kept = true, .decay = 0.9F, .delete_below = 0.02F, .unseen_days = 5};
  return specs;
}

/// Pushes of two trainers, a few keys of many in each.
std::vector<Command> steps(std::uint64_t seed, int count) {
  std::vector<Command> commands;
  Random random(seed);
  for (int step = 0; step < count; ++step) {
    for (std::uint32_t trainer = 0; trainer < 2; ++trainer) {
      commands.emplace_back(rows_of(trainer, random_keys(random, 60, 600), random.numbers(60 * dim), 0));
    }
  }
  return commands;
}

/// A cut of all groups, with a command after every slice.
std::vector<RowBlock> cut_beside(Groups& groups, std::size_t count, CutKind kind,
                                 std::vector<Command> const& commands) {
  test::Collector sink;
  for (std::size_t g = 0; g < count; ++g) groups[g].begin_cut(kind, sink);
  auto next = commands.begin();
  for (bool more = true; more || next != commands.end();) {
    if (next != commands.end()) groups.apply(*next++);
    more = false;
    for (std::size_t g = 0; g < count; ++g) more = groups[g].advance_cut(300) || more;
  }
  for (std::size_t g = 0; g < count; ++g) groups[g].keep_cut();
  return std::move(sink.blocks);
}

/// Into every group, as the engine does it; of the older cut only the rows count.
void load_all(Groups& groups, std::size_t count, std::vector<RowBlock> const& blocks, bool newest) {
  for (auto const& block : blocks) {
    if (!newest && block.kind != BlockKind::rows && block.kind != BlockKind::removed) continue;
    for (std::size_t g = 0; g < count; ++g) groups[g].load(block);
  }
}

}  // namespace

// What a resumed job does: a cut, and what changed until another one, both taken while pushes go on, are loaded where
// shards are shared out differently. From there on every row is what it is in the job that was left alone.
TEST(ShardGroup, WhatWasSavedGoesOnToTheSameBitsInOtherHands) {
  for (auto const apply : {ApplyRule::gather, ApplyRule::immediate}) {
    for (auto const& spec : specs_with_memory(apply)) {
      SCOPED_TRACE(concat(name_of(apply), ", ", name_of(spec.precision), ", ", name_of(spec.admission.kind),
                          spec.statistics.kept ? ", statistics" : ""));
      Groups alone(2, 2), resumed(3, 2);
      alone.apply(DeclareSparse{sparse_id, spec});
      resumed.apply(DeclareSparse{sparse_id, spec});
      auto const shrink = [&](Groups& groups, std::uint32_t day) {
        if (spec.statistics.kept) groups.apply(Shrink{sparse_id, day});
      };
      for (auto const& command : steps(1, 20)) alone.apply(command);
      auto const full = cut_beside(alone, 2, CutKind::full, steps(2, 8));
      shrink(alone, 5);  // its rows are not gone through when the next cut begins
      auto const changed = cut_beside(alone, 2, CutKind::changed, {});
      EXPECT_GT(alone.rows(), 50U);
      // What was there before a load is not part of it.
      for (auto const& command : steps(9, 7)) resumed.apply(command);
      for (std::size_t g = 0; g < 3; ++g) resumed[g].clear(sparse_id);
      load_all(resumed, 3, full, false);
      load_all(resumed, 3, changed, true);
      EXPECT_EQ(resumed.rows(), alone.rows());
      for (auto* const groups : {&alone, &resumed}) {
        for (auto const& command : steps(3, 10)) groups->apply(command);
        shrink(*groups, 6);
        for (auto const& command : steps(4, 10)) groups->apply(command);
      }
      for (std::size_t g = 0; g < 3; ++g) {
        while ((g < 2 && alone[g].advance_shrink(1000)) || resumed[g].advance_shrink(1000)) {
        }
      }
      ASSERT_EQ(resumed.rows(), alone.rows());
      auto const kept = cut_beside(alone, 2, CutKind::full, {}), went_on = cut_beside(resumed, 3, CutKind::full, {});
      EXPECT_EQ(test::rows_in(went_on, sparse_id), test::rows_in(kept, sparse_id));
    }
  }
}

TEST(ShardGroup, ATableOfPlainRowsHasNothingElseToSave) {
  Groups groups(2, 2);
  groups.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::gather)});
  for (auto const& command : steps(1, 3)) groups.apply(command);
  for (auto const& block : cut_beside(groups, 2, CutKind::full, {})) EXPECT_EQ(block.kind, BlockKind::rows);
}

// What the release before knew nothing of is not there: the table loads, and counts from nothing.
TEST(ShardGroup, RowsAloneAreEnoughToLoad) {
  auto spec = sparse_spec(ApplyRule::immediate);
  spec.precision = Precision::bf16;
  spec.admission = Admission::after(2);
  Groups from(1, 1), to(1, 1);
  from.apply(DeclareSparse{sparse_id, spec});
  to.apply(DeclareSparse{sparse_id, spec});
  for (auto const& command : steps(1, 5)) from.apply(command);
  load_all(to, 1, cut_beside(from, 1, CutKind::full, {}), false);
  EXPECT_EQ(to.pull(asked_keys()), from.pull(asked_keys()));
  auto const rows = to.rows();
  to.apply(rows_of(0, {7777}, std::vector<float>(dim, 1)));
  EXPECT_EQ(to.rows(), rows);
  to.apply(rows_of(0, {7777}, std::vector<float>(dim, 1)));
  EXPECT_EQ(to.rows(), rows + 1);
}

// The noise of a row's next rounding must not be that of one before, though servers have counted differently.
TEST(ShardGroup, ShardsThatCountedDifferentlyGoOnFromTheLargerNumber) {
  auto spec = sparse_spec(ApplyRule::immediate, Sgd{.rate = 1});
  spec.admission = Admission::by_chance(0.5);
  auto const pushed = [&](Groups& groups, int times) {
    std::vector<std::size_t> rows;
    for (int i = 0; i < times; ++i) {
      groups.apply(rows_of(0, asked_keys(), std::vector<float>(asked_keys().size() * dim)));
      rows.push_back(groups.rows());
    }
    return rows;
  };
  Groups behind(1, 1), ahead(1, 1), both(1, 1), last(1, 1);
  for (auto* const each : {&behind, &ahead, &both, &last}) each->apply(DeclareSparse{sparse_id, spec});
  (void)pushed(behind, 2);
  (void)pushed(ahead, 5);
  std::vector<RowBlock> counters;
  for (auto& block : cut_beside(ahead, 1, CutKind::full, {})) {
    if (block.kind == BlockKind::counters && block.shard == 3) counters.push_back(block);
  }
  for (auto& block : cut_beside(behind, 1, CutKind::full, {})) {
    if (block.kind == BlockKind::counters && block.shard != 3) counters.push_back(block);
  }
  ASSERT_EQ(counters.size(), shard_count);
  load_all(both, 1, counters, true);
  (void)pushed(last, 5);
  last[0].clear(sparse_id);
  EXPECT_EQ(pushed(last, 1)[0], [&] {
    Groups fresh(1, 1);
    fresh.apply(DeclareSparse{sparse_id, spec});
    return pushed(fresh, 1)[0];
  }()) << "cleared, a table counts from nothing";
  // The sixth push of a table that had no rows: its draws are those of the sixth.
  Groups sixth(1, 1);
  sixth.apply(DeclareSparse{sparse_id, spec});
  for (int i = 0; i < 5; ++i) sixth.apply(rows_of(0, {}, {}));
  EXPECT_EQ(pushed(both, 3), pushed(sixth, 3));
}

TEST(ShardGroup, LoadRefusesWhatDoesNotFit) {
  ShardGroup group(every_shard(), 1);
  std::vector<Ticket> released;
  RowBlock block{.table = sparse_id, .row_bytes = 4, .keys = {1}, .rows = std::vector<std::byte>(4)};
  EXPECT_STREQ(test::thrown([&] { group.load(block); }).what(),
               "prdist[table.unknown] table 1 was not declared to this server");
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::immediate, Sgd{})}, released);
  group.apply(declare(dense_spec(ApplyRule::immediate)), released);
  EXPECT_TRUE(test::holds(test::thrown([&] { group.load(block); }).what(),
                          "table 'embedding' has rows of 16 bytes, those to be loaded have 4: "));
  EXPECT_EQ(group.rows(sparse_id), 0U);
  block.table = dense_id;
  EXPECT_TRUE(test::holds(test::thrown([&] { group.load(block); }).what(), "table 'dense' has rows of "));
}

// The number in the message is one that works.
TEST(ShardGroup, ATableForWhichThereIsNoRoomSaysHowMuchItNeeds) {
  auto const sparse = sparse_spec(ApplyRule::immediate);
  std::vector<Ticket> released;
  for (std::size_t const mib : {0U, 2U}) {
    ShardGroup group(every_shard(), 1, mib << 20);
    EXPECT_STREQ(
        test::thrown([&] {
          for (TableId id = 1; id < 9; ++id) group.apply(DeclareSparse{id, sparse}, released);
        }).what(),
        mib == 0
            ? "prdist[config.invalid] table 'embedding' cannot be made: each thread of the server needs at least 4 "
              "MiB for it and the tables before it, and its share of PRDIST_SERVER_MEMORY_MB is 0 MiB: give the "
              "server 4 for each of its threads, or more"
            : "prdist[config.invalid] table 'embedding' cannot be made: each thread of the server needs at least 6 "
              "MiB for it and the tables before it, and its share of PRDIST_SERVER_MEMORY_MB is 2 MiB: give the "
              "server 6 for each of its threads, or more");
  }
  ShardGroup enough(every_shard(), 1, std::size_t{4} << 20), both(every_shard(), 1, std::size_t{6} << 20);
  enough.apply(DeclareSparse{1, sparse}, released);
  enough.apply(rows_of(0, asked_keys(), std::vector<float>(asked_keys().size() * dim)), released);
  EXPECT_EQ(enough.rows(1), asked_keys().size());
  both.apply(DeclareSparse{1, sparse}, released);
  both.apply(DeclareSparse{2, sparse}, released);
  ShardGroup dense(every_shard(), 1, std::size_t{2} << 20);
  auto large = dense_spec(ApplyRule::immediate);
  large.parts[0].size = 2000000;
  EXPECT_EQ(test::thrown([&] { dense.apply(declare(large), released); }).code(), Errc::config_invalid);
}

TEST(ShardGroup, ATableWithoutStatisticsIsNotShrunk) {
  ShardGroup group(every_shard(), 1);
  std::vector<Ticket> released;
  group.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::immediate)}, released);
  EXPECT_STREQ(
      test::thrown([&] {
        group.apply(Shrink{sparse_id, 1}, released);
      }).what(),
      "prdist[table.mismatch] table 'embedding' cannot be shrunk: it keeps no statistics, declare it with them");
  EXPECT_EQ(test::thrown([&] { group.apply(Shrink{77, 1}, released); }).code(), Errc::table_unknown);
}

TEST(ShardGroup, ATableThatTrainersCopyIsNotShrunk) {
  ShardGroup group(every_shard(), 1);
  std::vector<Ticket> released;
  auto spec = sparse_spec(ApplyRule::add);
  spec.statistics.kept = true;
  group.apply(DeclareSparse{sparse_id, spec}, released);
  EXPECT_STREQ(test::thrown([&] {
                 group.apply(Shrink{sparse_id, 1}, released);
               }).what(),
               "prdist[table.mismatch] table 'embedding' cannot be shrunk: trainers learn on copies of its rows (geo), "
               "and what goes would be lost: take another strategy");
}

// A row that goes after the marker was there at the marker.
TEST(ShardGroup, WhatAShrinkTakesAwayIsInTheCutBeforeIt) {
  ShardGroup group(every_shard(), 1);
  std::vector<Ticket> released;
  auto spec = sparse_spec(ApplyRule::immediate);
  spec.statistics = {.kept = true, .unseen_days = 1};
  group.apply(DeclareSparse{sparse_id, spec}, released);
  Random random(6);
  group.apply(rows_of(0, asked_keys(), random.numbers(asked_keys().size() * dim)), released);
  auto const before = everything(group);
  test::Collector sink, changed;
  group.begin_cut(CutKind::full, sink);
  (void)group.advance_cut(100);
  group.apply(Shrink{sparse_id, 5}, released);
  while (group.advance_shrink(50)) {
    (void)group.advance_cut(10);
  }
  EXPECT_EQ(group.rows(sparse_id), 0U);
  EXPECT_EQ(group.evicted(sparse_id), 600U);
  EXPECT_GE(group.bytes() % (std::size_t{2} << 20), 600 * sizeof(Key)) << "what has gone is noted for the next cut";
  while (group.advance_cut(1000)) {
  }
  group.keep_cut();
  EXPECT_EQ(test::rows_in(sink.blocks, sparse_id), test::rows_in(before, sparse_id));
  group.begin_cut(CutKind::changed, changed);
  while (group.advance_cut(10)) {
  }
  EXPECT_TRUE(test::rows_in(changed.blocks, sparse_id).empty());
  EXPECT_EQ(test::removed_in(changed.blocks, sparse_id).size(), 600U);
}

TEST(ShardGroup, AddsDifferencesAndKnowsWhoChangedWhatInEveryThread) {
  Groups groups(3, 2);
  groups.apply(DeclareSparse{sparse_id, sparse_spec(ApplyRule::add, adding)});
  std::vector<Key> keys(50);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix(i);
  EXPECT_EQ(groups.apply(rows_of(0, keys, std::vector<float>(keys.size() * dim, 2), 9)), std::vector<Ticket>{9});
  groups.apply(rows_of(1, {keys[0]}, std::vector<float>(dim, 3)));
  std::vector<float> first(dim), rows(keys.size() * dim);
  std::size_t told = 0;
  for (std::size_t g = 0; g < 3; ++g) {
    groups[g].pull(sparse_id, keys, rows);
    EXPECT_EQ(groups[g].changed(sparse_id, 1, 0).now, 2U);  // counted alike, whoever has the rows
    told += groups[g].changed(sparse_id, 1, 0).keys.size();
  }
  EXPECT_EQ(told, keys.size());
  auto const spec = sparse_spec(ApplyRule::add);
  fill_first(spec.init, stream_of(spec.seed, hash_name(spec.name)), keys[0], first);
  for (std::size_t k = 0; k < dim; ++k) EXPECT_EQ(rows[k], first[k] + 2 + 3);
  groups.apply(Heard{sparse_id, 1, 2});
  groups.apply(Leave{0});
  for (std::size_t g = 0; g < 3; ++g) EXPECT_TRUE(groups[g].changed(sparse_id, 1, 0).keys.empty());
  EXPECT_TRUE(test::holds(test::thrown([&] { (void)groups[0].changed(77, 0, 0); }).what(), "was not declared"));
}
