#include <prdist/device/cpu.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;
using test::Random;

TEST(Cpu, StagingAndViewAreTheSameMemory) {
  Cpu const cpu;
  Cpu::Floats floats;
  cpu.resize(floats, 5);
  ASSERT_EQ(cpu.view(floats).size(), 5U);
  EXPECT_EQ(cpu.staging(floats).data(), cpu.view(floats).data());
  cpu.staging(floats)[3] = 7;
  cpu.upload(floats);
  EXPECT_EQ(cpu.view(floats)[3], 7.0F);
  cpu.view(floats)[3] = 8;
  cpu.download(floats);
  EXPECT_EQ(cpu.staging(floats)[3], 8.0F);
  cpu.zero(floats);
  EXPECT_EQ(floats, Cpu::Floats(5));
  cpu.resize(floats, 0);
  EXPECT_TRUE(cpu.view(floats).empty());
}

TEST(Cpu, GatherCopiesTheRowOfEachPosition) {
  Cpu const cpu;
  Cpu::Floats const from{0, 1, 10, 11, 20, 21};
  Cpu::Floats to(8, -1.0F);
  cpu.gather(from, std::vector<std::uint32_t>{2, 0, 2}, 2, to);
  EXPECT_EQ(to, (Cpu::Floats{20, 21, 0, 1, 20, 21, -1, -1})) << "and nothing behind them";
  cpu.gather(from, {}, 2, to);
  EXPECT_EQ(to[0], 20.0F);
}

TEST(Cpu, ScatterAddSumsTheGradientsOfEqualKeysInOrder) {
  Cpu const cpu;
  Cpu::Floats const from{1, 2, 10, 20, 100, 200};
  Cpu::Floats to{0.5F, 0.5F, 0, 0, 7, 7};
  cpu.scatter_add(from, std::vector<std::uint32_t>{1, 0, 1}, 2, to);
  EXPECT_EQ(to, (Cpu::Floats{10.5F, 20.5F, 101, 202, 7, 7}));
  // 1e8 + 1 is 1e8 in floats: only in this order is the sum 1.
  Cpu::Floats sum(1);
  cpu.scatter_add({1e8F, -1e8F, 1}, std::vector<std::uint32_t>{0, 0, 0}, 1, sum);
  EXPECT_EQ(sum[0], 1.0F);
}

TEST(Cpu, ScatterAddUndoesGather) {
  Cpu const cpu;
  Random random(1);
  for (std::size_t const dim : {1U, 7U, 8U, 33U}) {
    std::vector<std::uint32_t> index(50);
    std::vector<float> times(20);
    for (auto& each : index) {
      each = static_cast<std::uint32_t>(random.below(20));
      ++times[each];
    }
    Cpu::Floats from(20 * dim), positions(50 * dim), sum(20 * dim);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
    cpu.gather(from, index, dim, positions);
    cpu.scatter_add(positions, index, dim, sum);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], times[i / dim] * from[i]);
  }
}

TEST(Cpu, UpdateIsTheKernelOnEveryRow) {
  Cpu const cpu;
  std::size_t const dim = 9, count = 6;
  for (Optimizer const& rule : {Optimizer(Sgd{}), Optimizer(Momentum{}), Optimizer(Adagrad{}), Optimizer(Adam{})}) {
    auto const stride = row_floats(rule, dim);
    Random random(2);
    Cpu::Floats rows = random.numbers(count * stride);
    for (std::size_t i = 0; i < count; ++i) write_first_state(rule, rows.data() + i * stride, dim);
    auto expected = rows;
    auto const gradients = random.numbers(count * dim);
    cpu.update(rule, rows, gradients, dim);
    for (std::size_t i = 0; i < count; ++i) {
      auto* const row = expected.data() + i * stride;
      auto const* const gradient = gradients.data() + i * dim;
      row_kernel(rule)(rule, &row, &gradient, 1, dim);
    }
    EXPECT_EQ(rows, expected) << name_of(rule);
  }
}
