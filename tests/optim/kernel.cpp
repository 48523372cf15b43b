#include <prdist/optim/kernel.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "trajectory.hpp"

using namespace prdist;
using test::Random;

TEST(Kernel, InstructionSetsGiveTheSameBytes) {
  if (instruction_set() == InstructionSet::baseline) GTEST_SKIP() << "this machine has only the baseline";
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    for (auto const dim : test::all_dims()) {
      EXPECT_TRUE(test::same_bytes(test::train(rule, dim, 100, InstructionSet::baseline),
                                   test::train(rule, dim, 100, InstructionSet::avx2)))
          << name_of(rule) << ", dim " << dim;
    }
  }
}

// The vector part and the rest of a row: an element's result must not depend on where in the row it stands.
TEST(Kernel, AnElementDoesNotDependOnItsPosition) {
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    for (auto const set : test::all_sets()) {
      std::size_t const dim = 21;
      std::vector<float> row(row_floats(rule, dim));
      for (std::size_t i = 0; i < dim; ++i) row[i] = 0.3F;
      write_first_state(rule, row.data(), dim);
      auto* const start = row.data();
      for (int step = 1; step <= 10; ++step) {
        std::vector<float> const gradient(dim, 0.7F / static_cast<float>(step));
        auto const* const from = gradient.data();
        row_kernel(rule, set)(rule, &start, &from, 1, dim);
      }
      for (std::size_t i = 1; i < dim; ++i) EXPECT_EQ(row[i], row[0]) << name_of(rule) << ", element " << i;
    }
  }
}

TEST(Kernel, ManyRowsInOneCallAreEachUpdatedByTheirOwnGradient) {
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    for (std::size_t const dim : {1U, 8U, 13U, 16U, 32U}) {
      Random random(7);
      std::vector<std::vector<float>> together, alone, gradients;
      for (int i = 0; i < 9; ++i) {
        together.push_back(test::first_row(rule, dim, random));
        gradients.push_back(random.numbers(dim));
      }
      alone = together;
      std::vector<float*> rows;
      std::vector<float const*> from;
      for (auto& row : together) rows.push_back(row.data());
      for (auto& gradient : gradients) from.push_back(gradient.data());
      auto const kernel = row_kernel(rule);
      kernel(rule, rows.data(), from.data(), rows.size(), dim);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        auto* const row = alone[i].data();
        kernel(rule, &row, &from[i], 1, dim);
        EXPECT_TRUE(test::same_bytes(alone[i], together[i])) << name_of(rule) << ", dim " << dim << ", row " << i;
      }
    }
  }
}

TEST(Kernel, EqualRowsInOneCallAreUpdatedInOrder) {
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    for (auto const set : test::all_sets()) {
      std::size_t const dim = 8;
      Random random(8);
      auto twice = test::first_row(rule, dim, random);
      auto once = twice, reversed = twice;
      auto const first = random.numbers(dim), second = random.numbers(dim);
      auto const kernel = row_kernel(rule, set);
      auto const update = [&](std::vector<float>& row, std::vector<float const*> const& gradients) {
        std::vector<float*> const rows(gradients.size(), row.data());
        kernel(rule, rows.data(), gradients.data(), rows.size(), dim);
      };
      update(twice, {first.data(), second.data()});
      update(once, {first.data()});
      update(once, {second.data()});
      EXPECT_TRUE(test::same_bytes(twice, once)) << name_of(rule);
      if (std::holds_alternative<Sgd>(rule.rule)) continue;  // for which the order makes no difference but rounding
      update(reversed, {second.data(), first.data()});
      EXPECT_FALSE(test::same_bytes(twice, reversed)) << name_of(rule);
    }
  }
}

TEST(Kernel, NoRowsIsNothing) {
  for (auto const& rule : test::every_optimizer_and_adjusted()) row_kernel(rule)(rule, nullptr, nullptr, 0, 8);
}

TEST(Kernel, FirstStateLeavesTheWeightsAlone) {
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    std::vector<float> row(row_floats(rule, 5), 9.0F);
    write_first_state(rule, row.data(), 5);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(row[i], 9.0F);
    for (std::size_t i = 5; i < row.size(); ++i) EXPECT_NE(row[i], 9.0F) << name_of(rule) << ", float " << i;
  }
}
