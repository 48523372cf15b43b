#include <prdist/device/cpu.hpp>

#include <gtest/gtest.h>

#include "../support/random.hpp"
#include "suite.hpp"

using namespace prdist;
using test::Random;

namespace prdist::test {
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, EveryDevice, Cpu, );
}  // namespace prdist::test

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

TEST(Cpu, UpdateIsTheKernelOnEveryRow) {
  Cpu const cpu;
  std::size_t const dim = 9, count = 6;
  for (auto const& rule : test::every_optimizer()) {
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
