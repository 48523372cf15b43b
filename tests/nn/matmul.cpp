#include <prdist/nn/matmul.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

namespace {

/// By definition, in double; `a` and `b` are stored transposed where their Op says so.
std::vector<double> product(std::vector<double> const& a, Op op_a, std::vector<double> const& b, Op op_b, std::size_t m,
                            std::size_t n, std::size_t k) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) {
        c[i * n + j] +=
            (op_a == Op::none ? a[i * k + l] : a[l * m + i]) * (op_b == Op::none ? b[l * n + j] : b[j * k + l]);
      }
    }
  }
  return c;
}

}  // namespace

TEST(Matmul, EveryCombinationOfTranspositions) {
  constexpr std::size_t m = 3, n = 4, k = 5;
  auto const a = random_values(m * k, 1), b = random_values(k * n, 2), before = random_values(m * n, 3);
  for (auto const op_a : {Op::none, Op::transpose}) {
    for (auto const op_b : {Op::none, Op::transpose}) {
      auto const a_view = as_matrix(a, op_a == Op::none ? m : k, op_a == Op::none ? k : m);
      auto const b_view = as_matrix(b, op_b == Op::none ? k : n, op_b == Op::none ? n : k);
      auto const wanted = product(a, op_a, b, op_b, m, n, k);
      auto c = before;
      matmul(a_view, op_a, b_view, op_b, as_matrix(c, m, n));
      for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], wanted[i], 1e-12);
      c = before;
      matmul(a_view, op_a, b_view, op_b, as_matrix(c, m, n), 1);
      for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], before[i] + wanted[i], 1e-12);
    }
  }
}

TEST(Matmul, FloatsAndRowsThatLieApart) {
  auto const a = random_floats(3 * 8, 1), b = random_floats(2 * 7, 2);
  std::vector<float> c(3 * 9, -1);
  auto const a_view = as_matrix(a, 3, 8).columns(4, 2);
  auto const b_view = as_matrix(b, 2, 7).columns(1, 5);
  auto const c_view = as_matrix(c, 3, 9).columns(2, 5);
  matmul(a_view, Op::none, b_view, Op::none, c_view);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(c[i * 9 + 1], -1.0F) << "beside the view";
    EXPECT_EQ(c[i * 9 + 7], -1.0F) << "beside the view";
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(c_view(i, j), a_view(i, 0) * b_view(0, j) + a_view(i, 1) * b_view(1, j), 1e-6F);
    }
  }
}

TEST(Matmul, NothingToMultiplyIsNoError) {
  std::vector<float> c{5, 6};
  Matrix<float> const none;
  matmul(none, Op::none, none, Op::none, none);
  // No inner dimension: the sum over nothing.
  matmul(Matrix<float const>(nullptr, 2, 0, 0), Op::none, Matrix<float const>(nullptr, 0, 1, 1), Op::none,
         as_matrix(c, 2, 1));
  EXPECT_EQ(c, (std::vector<float>{0, 0}));
}

TEST(Matmul, EqualInputsGiveEqualBytesFromAnyThread) {
  constexpr std::size_t m = 130, n = 70, k = 90;
  auto const a = random_floats(m * k, 1), b = random_floats(k * n, 2);
  auto const run = [&](std::vector<float>& c) {
    c.assign(m * n, 0);
    matmul(as_matrix(a, m, k), Op::none, as_matrix(b, k, n), Op::none, as_matrix(c, m, n));
  };
  std::vector<float> here, there, second;
  run(here);
  std::thread one([&] { run(there); }), two([&] { run(second); });
  one.join();
  two.join();
  EXPECT_EQ(std::memcmp(here.data(), there.data(), here.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(here.data(), second.data(), here.size() * sizeof(float)), 0);
}
