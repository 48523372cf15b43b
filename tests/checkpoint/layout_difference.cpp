#include <prdist/checkpoint/layout_difference.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(LayoutDifference, NamesWhatDoesNotFit) {
  SparseSpec const spec{.name = "t", .dim = 2, .optimizer = Adagrad{}};
  auto const why = [](AnySpec const& here, AnySpec const& saved) { return layout_difference(here, saved); };
  DenseSpec const dense{.name = "t", .parts = {{"w", 3, {}}}};
  EXPECT_EQ(why(spec, spec), "");
  EXPECT_EQ(why(spec, dense), "one is dense and the other sparse");
  auto other = spec;
  std::get<Adagrad>(other.optimizer.rule).rate = 9;
  EXPECT_EQ(why(other, spec), "");  // rates may change between two runs
  other.apply = ApplyRule::add;
  other.optimizer = adding;
  EXPECT_EQ(why(other, spec), "one is of a job with geo, whose workers keep the optimizer, and the other not");
  other = spec;
  other.optimizer = Adam{};
  EXPECT_EQ(why(other, spec), "the optimizer is adam here and adagrad in the checkpoint");
  other = spec;
  other.dim = 4;
  EXPECT_EQ(why(other, spec), "dim is 4 here and 2 in the checkpoint");
  other = spec;
  other.precision = Precision::bf16;
  EXPECT_EQ(why(other, spec), "the precision is bf16 here and fp32 in the checkpoint");
  other = spec;
  other.statistics.kept = true;
  EXPECT_EQ(why(other, spec), "the size of a row with its statistics is 32 here and 16 in the checkpoint");
  auto larger = dense;
  larger.parts[0].size = 4;
  EXPECT_EQ(why(larger, dense), "dense part 0 is w (4) here and w (3) in the checkpoint");
  auto shaped = dense;
  shaped.parts[0].shape = {3, 1};
  EXPECT_EQ(why(shaped, dense), "") << "a checkpoint from before there were shapes";
  EXPECT_EQ(why(dense, shaped), "");
  auto turned = shaped;
  turned.parts[0].shape = {1, 3};
  EXPECT_EQ(why(turned, shaped), "dense part 0 is w (1x3) here and w (3x1) in the checkpoint");
  auto renamed = dense;
  renamed.parts[0].name = "v";
  EXPECT_EQ(why(renamed, dense), "dense part 0 is v (3) here and w (3) in the checkpoint");
  auto parted = dense;
  parted.parts = {{"w", 1, {}}, {"b", 2, {}}};
  EXPECT_EQ(why(parted, dense), "the number of dense parts is 2 here and 1 in the checkpoint");
  auto scheduled = dense;
  scheduled.optimizer.schedule = Schedule::cosine(10);
  EXPECT_EQ(why(scheduled, dense), "one has a learning-rate schedule and the other none");
}
