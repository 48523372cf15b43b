#include <prdist/nn/factorization.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

namespace {

constexpr std::size_t rows = 3, slots = 4, dim = 2;

struct Forward {
  std::vector<double> sums = std::vector<double>(rows * dim), y = std::vector<double>(rows);
};

Forward forward(std::vector<double> const& x) {
  Forward result;
  factorization(as_matrix(x, rows, slots * dim), slots, as_matrix(result.sums, rows, dim), result.y);
  return result;
}

}  // namespace

TEST(Factorization, IsTheSumOverPairsOfSlots) {
  auto const x = random_values(rows * slots * dim, 1);
  auto const y = forward(x).y;
  for (std::size_t row = 0; row < rows; ++row) {
    double wanted = 0;
    for (std::size_t a = 0; a < slots; ++a) {
      for (std::size_t b = a + 1; b < slots; ++b) {
        for (std::size_t f = 0; f < dim; ++f) {
          wanted += x[row * slots * dim + a * dim + f] * x[row * slots * dim + b * dim + f];
        }
      }
    }
    EXPECT_NEAR(y[row], wanted, 1e-12);
  }
}

TEST(Factorization, BackwardAgreesWithFiniteDifferencesAndAdds) {
  auto x = random_values(rows * slots * dim, 1);
  auto const slopes = random_values(rows, 2);
  auto const sums = forward(x).sums;
  std::vector<double> gradient(x.size(), 10);
  factorization_backward(as_matrix(x, rows, slots * dim), slots, as_matrix(sums, rows, dim), slopes,
                         as_matrix(gradient, rows, slots * dim));
  for (auto& value : gradient) value -= 10;
  expect_gradient("x", x, gradient, [&] { return weighted_sum(forward(x).y, slopes); });
}
