// One BLAS thread by default. In a file of its own, which includes cblas.h: the two get along.
#include <cblas.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include <prdist/nn/matmul.hpp>

using namespace prdist::nn;

namespace {

void multiply_something() {
  std::vector<float> a(4, 1), c(4);
  matmul(as_matrix(a, 2, 2), Op::none, as_matrix(a, 2, 2), Op::none, as_matrix(c, 2, 2));
}

}  // namespace

// Run a second time with OPENBLAS_NUM_THREADS set (see CMakeLists.txt).
TEST(BlasThreads, AreOneAfterTheFirstProductUnlessTheEnvironmentSaysElse) {
  auto const* const wanted = std::getenv("OPENBLAS_NUM_THREADS");
  multiply_something();
  EXPECT_EQ(openblas_get_num_threads(), wanted != nullptr ? std::atoi(wanted) : 1);
}

TEST(BlasThreads, TheUsersNumberStays) {
  set_blas_threads(2);
  multiply_something();
  EXPECT_EQ(openblas_get_num_threads(), 2);
  set_blas_threads(0);
  EXPECT_EQ(openblas_get_num_threads(), 1);
}
