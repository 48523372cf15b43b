#include <prdist/nn/fully_connected.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

namespace {

constexpr std::size_t rows = 4, in = 3, out = 5;

}  // namespace

TEST(FullyConnected, IsProductAndBias) {
  std::vector<double> const x{1, 2, 3, 4}, w{1, 10, 100, 1000}, b{0.5, 0.25};
  std::vector<double> y(4);
  fully_connected(as_matrix(x, 2, 2), as_matrix(w, 2, 2), b, as_matrix(y, 2, 2));
  EXPECT_EQ(y, (std::vector<double>{201.5, 2010.25, 403.5, 4030.25}));
}

TEST(FullyConnected, BackwardAgreesWithFiniteDifferences) {
  auto x = random_values(rows * in, 1), w = random_values(in * out, 2), b = random_values(out, 3);
  auto const dy = random_values(rows * out, 4);
  auto const loss = [&] {
    std::vector<double> y(rows * out);
    fully_connected(as_matrix(x, rows, in), as_matrix(w, in, out), b, as_matrix(y, rows, out));
    return weighted_sum(y, dy);
  };
  std::vector<double> dx(x.size(), 99), dw(w.size()), db(b.size());
  auto const slope = as_matrix(dy, rows, out);
  fully_connected_backward_parameters(as_matrix(x, rows, in), slope, as_matrix(dw, in, out), db);
  fully_connected_backward_input(as_matrix(w, in, out), slope, as_matrix(dx, rows, in));
  expect_gradient("x", x, dx, loss);
  expect_gradient("w", w, dw, loss);
  expect_gradient("b", b, db, loss);
}

TEST(FullyConnected, BackwardAddsToTheGradientsOfParameters) {
  auto const x = random_values(rows * in, 1), dy = random_values(rows * out, 4);
  std::vector<double> once(in * out), twice(in * out), db_once(out), db_twice(out);
  auto const run = [&](std::vector<double>& dw, std::vector<double>& db) {
    fully_connected_backward_parameters(as_matrix(x, rows, in), as_matrix(dy, rows, out), as_matrix(dw, in, out), db);
  };
  run(once, db_once);
  run(twice, db_twice);
  run(twice, db_twice);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-12);
  for (std::size_t i = 0; i < out; ++i) EXPECT_NEAR(db_twice[i], 2 * db_once[i], 1e-12);
}
