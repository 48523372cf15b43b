#include <prdist/fleet/geo_copy.hpp>

#include <gtest/gtest.h>

#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>

#include "../data/temp_dir.hpp"
#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

struct Shape {
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", 1, Initializer::constant(1)}}; }
  std::vector<DensePart> dense_parts() const { return {{"w", 2, Initializer::constant(5)}}; }
};

/// What a copy sees of a thread: keys, room for rows, gradients.
struct Hand {
  std::vector<Key> names{1, 2};
  std::vector<float> row = std::vector<float>(2), weights = std::vector<float>(2);
  std::vector<float> row_slope{-1, -1}, slope{-2, 0};
  std::span<Key const> keys(std::size_t) const { return names; }
  std::span<float> rows(std::size_t) { return row; }
  std::span<float> dense() { return weights; }
  std::span<float const> row_gradients(std::size_t) { return row_slope; }
  std::span<float const> dense_gradient() { return slope; }
};

TEST(GeoCopy, LearnsBesideTheServersAndExchanges) {
  spawn<Transport<Memory>>(2, 2, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
    auto const tables = ModelTables::declare(client, Shape{}, rules, ApplyRule::add, 0, {});
    GeoCopy copy(client, tables, rules);
    Hand hand;
    copy.read(hand);
    EXPECT_EQ(hand.row, (std::vector<float>{1, 1}));
    EXPECT_EQ(hand.weights, (std::vector<float>{5, 5}));
    client.barrier("read");
    std::vector<float> rows(2), dense(2);
    if (fleet.roles().index == 0) {
      copy.learn(hand);
      copy.step(2);  // not yet
      client.pull(tables.sparse[0], hand.names, rows).wait();
      EXPECT_EQ(rows, (std::vector<float>{1, 1}));
      copy.learn(hand);
      copy.step(2);  // half of what it has learned
      client.pull(tables.sparse[0], hand.names, rows).wait();
      client.pull(*tables.dense, dense).wait();
      EXPECT_EQ(rows, (std::vector<float>{2, 2}));
      EXPECT_EQ(dense, (std::vector<float>{7, 5}));
      copy.read(hand);
      EXPECT_EQ(hand.row, (std::vector<float>{3, 3}));
    }
    client.barrier("half");
    if (fleet.roles().index == 1) {
      copy.settle();  // it has nothing to give, and takes in the other's half
      copy.read(hand);
      EXPECT_EQ(hand.row, (std::vector<float>{2, 2}));
      EXPECT_EQ(hand.weights, (std::vector<float>{7, 5}));
    }
    client.barrier("taken");
    if (fleet.roles().index == 0) {
      copy.settle();  // the other half
      client.pull(tables.sparse[0], hand.names, rows).wait();
      client.pull(*tables.dense, dense).wait();
      EXPECT_EQ(rows, (std::vector<float>{3, 3}));
      EXPECT_EQ(dense, (std::vector<float>{9, 5}));
    }
    client.barrier("end");
    fleet.stop_worker();
  });
}

/// Gradients that let the optimizer's state matter.
void learn(GeoCopy& copy, Hand& hand, std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) {
    copy.read(hand);
    for (std::size_t k = 0; k < 2; ++k) {
      hand.row_slope[k] = hand.row[k] - 3 + static_cast<float>(k);
      hand.slope[k] = hand.weights[k] + 2;
    }
    copy.learn(hand);
  }
}

TEST(GeoCopy, GoesOnWithWhatTheOptimizerKnew) {
  spawn<Transport<Memory>>(2, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    Optimizers const rules{Adam{.rate = 0.25F}, Adam{.rate = 0.25F}};
    auto const tables = ModelTables::declare(client, Shape{}, rules, ApplyRule::add, 0, {});
    TempDir const folder;
    GeoCopy before(client, tables, rules);
    Hand hand;
    learn(before, hand, 4);
    before.settle();
    PartWriter writer(folder.path().native(), 0, copy_name(0));
    before.save(writer);
    auto const part = writer.close();
    EXPECT_EQ(part.tables.size(), 2U);
    PartReader const reader(folder.path().native() + "/copy-000");

    GeoCopy resumed(client, tables, rules), anew(client, tables, rules);
    resumed.load(reader);
    auto const after = [&](GeoCopy& copy) {
      learn(copy, hand, 1);
      copy.read(hand);
      return std::pair(hand.row, hand.weights);
    };
    auto const expected = after(before);
    EXPECT_EQ(after(resumed), expected);
    EXPECT_NE(after(anew), expected);

    // Rows and parts that a copy holds already stay as they are: the first file that has them counts.
    GeoCopy held(client, tables, rules);
    learn(held, hand, 1);
    held.load(reader);
    GeoCopy fresh(client, tables, rules);
    learn(fresh, hand, 1);
    EXPECT_EQ(after(held), after(fresh));

    for (auto const& [other, text] : std::vector<std::pair<Optimizers, std::string>>{
             {{Sgd{}, Adam{}}, "table 'rows': its optimizer keeps 0 bytes of a row, in "},
             {{Adam{}, Adagrad{}}, "table 'dense': its optimizer keeps 8 bytes of a row, in "}}) {
      GeoCopy copy(client, tables, other);
      auto const error = thrown([&] { copy.load(reader); });
      EXPECT_EQ(error.code(), Errc::table_mismatch);
      EXPECT_TRUE(holds(error.what(), text));
      EXPECT_TRUE(holds(error.what(), ": run the program with the options it was saved with"));
    }
    fleet.stop_worker();
  });
}

}  // namespace
}  // namespace prdist::test
