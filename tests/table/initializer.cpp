#include <prdist/table/initializer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace prdist;

namespace {

std::vector<float> row_of(Initializer const& init, Key key, std::size_t dim, std::uint64_t seed = 0) {
  std::vector<float> row(dim);
  fill_first(init, stream_of(seed, hash_name("embedding")), key, row);
  return row;
}

/// Many rows one behind another.
std::vector<double> sample(Initializer const& init) {
  std::vector<double> all;
  for (Key key = 0; key < 20000; ++key) {
    for (auto const value : row_of(init, key, 8)) all.push_back(value);
  }
  return all;
}

double mean(std::vector<double> const& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

double deviation(std::vector<double> const& all) {
  auto const middle = mean(all);
  double sum = 0;
  for (auto const each : all) sum += (each - middle) * (each - middle);
  return std::sqrt(sum / static_cast<double>(all.size()));
}

}  // namespace

// Every first row of every job depends on these bits. If this test fails, all of them have changed.
TEST(Initializer, ValuesArePartOfThePromise) {
  auto const uniform = row_of(Initializer::uniform(-1, 1), 42, 4);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(uniform[0]), 0x3f0c9c84U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(uniform[1]), 0xbe7b3288U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(uniform[2]), 0xbf419c64U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(uniform[3]), 0xbf79fdbeU);
  auto const normal = row_of(Initializer::normal(0, 1), 42, 4, 7);
  EXPECT_NEAR(normal[0], 0.0770262, 1e-6);
  EXPECT_NEAR(normal[1], 0.5428055, 1e-6);
  EXPECT_NEAR(normal[2], 0.0455839, 1e-6);
  EXPECT_NEAR(normal[3], -0.9691497, 1e-6);
}

TEST(Initializer, IsAFunctionOfSeedTableAndKey) {
  auto const init = Initializer::uniform(0, 1);
  auto const row = row_of(init, 42, 16);
  EXPECT_EQ(row_of(init, 42, 16), row);
  EXPECT_NE(row_of(init, 43, 16), row);
  EXPECT_NE(row_of(init, 42, 16, 1), row);
  std::vector<float> other_table(16);
  fill_first(init, stream_of(0, hash_name("embedding2")), 42, other_table);
  EXPECT_NE(other_table, row);
}

// A dense table is filled range by range, a row of another dimension begins with the same numbers.
TEST(Initializer, AnyStretchOfARowIsTheSameHoweverItIsCut) {
  for (auto const& init : {Initializer::uniform(-1, 1), Initializer::normal(1, 2), Initializer::constant(3)}) {
    auto const whole = row_of(init, 7, 100);
    for (std::size_t from = 0; from < 100; from += 9) {
      std::vector<float> part(5);
      fill_first(init, stream_of(0, hash_name("embedding")), 7, part, from);
      for (std::size_t i = 0; i < part.size() && from + i < 100; ++i) EXPECT_EQ(part[i], whole[from + i]);
    }
  }
}

TEST(Initializer, ConstantAndZerosAreWhatTheySay) {
  EXPECT_EQ(row_of(Initializer::zeros(), 1, 3), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(row_of(Initializer::constant(0.25F), 1, 3), (std::vector<float>{0.25F, 0.25F, 0.25F}));
  EXPECT_EQ(Initializer{}, Initializer::zeros());
  EXPECT_TRUE(row_of(Initializer::constant(1), 1, 0).empty());
}

TEST(Initializer, UniformStaysInItsBoundsAndFillsThem) {
  auto const all = sample(Initializer::uniform(-2, 3));
  auto const [low, high] = std::minmax_element(all.begin(), all.end());
  EXPECT_GE(*low, -2.0);
  EXPECT_LT(*low, -1.999);
  EXPECT_LE(*high, 3.0);
  EXPECT_GT(*high, 2.999);
  // 160000 numbers: five standard errors are 0.018 and 0.008.
  EXPECT_NEAR(mean(all), 0.5, 0.018);
  EXPECT_NEAR(deviation(all), 5 / std::sqrt(12.0), 0.01);
}

TEST(Initializer, NormalHasItsMeanDeviationAndTails) {
  auto const all = sample(Initializer::normal(0.5F, 2));
  EXPECT_NEAR(mean(all), 0.5, 0.025);
  EXPECT_NEAR(deviation(all), 2, 0.02);
  std::size_t within_one = 0, within_two = 0;
  for (auto const each : all) {
    ASSERT_TRUE(std::isfinite(each));
    within_one += std::abs(each - 0.5) < 2 ? 1 : 0;
    within_two += std::abs(each - 0.5) < 4 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(within_one) / 160000, 0.6827, 0.006);
  EXPECT_NEAR(static_cast<double>(within_two) / 160000, 0.9545, 0.003);
}

// Neighbouring elements come from neighbouring counters: they must not know of each other.
TEST(Initializer, ElementsOfARowAndRowsOfNeighboursAreIndependent) {
  for (auto const& init : {Initializer::uniform(-1, 1), Initializer::normal(0, 1)}) {
    auto const all = sample(init);
    auto const variance = deviation(all) * deviation(all);
    for (std::size_t const lag : {1U, 8U}) {
      double sum = 0;
      for (std::size_t i = lag; i < all.size(); ++i) sum += all[i] * all[i - lag];
      EXPECT_NEAR(sum / static_cast<double>(all.size()) / variance, 0, 0.0125) << "lag " << lag;
    }
  }
}

TEST(Initializer, XavierIsGlorotsBound) {
  auto const init = Initializer::xavier(10, 14);
  EXPECT_EQ(init.kind, Initializer::Kind::uniform);
  EXPECT_FLOAT_EQ(init.second, 0.5F);
  EXPECT_FLOAT_EQ(init.first, -0.5F);
}

TEST(Initializer, KindsHaveNames) {
  EXPECT_EQ(name_of(Initializer::Kind::constant), "constant");
  EXPECT_EQ(name_of(Initializer::Kind::uniform), "uniform");
  EXPECT_EQ(name_of(Initializer::Kind::normal), "normal");
}
