#include <prdist/device/cuda_kernels.hpp>

#include <gtest/gtest.h>

#include <prdist/device/cpu.hpp>

#include "../support/thrown.hpp"
#include "host_system.hpp"
#include "suite.hpp"

namespace prdist::test {
namespace {

static_assert(device_policy<HostCuda>);

INSTANTIATE_TYPED_TEST_SUITE_P(HostCuda, EveryDevice, HostCuda, );

TEST(CudaKernels, OptimizersGiveTheBytesOfTheCpuKernels) {
  Cpu cpu;
  HostCuda cuda;
  Random random(3);
  for (std::size_t const dim : {1U, 8U, 16U, 19U, 32U, 64U}) {
    for (auto const& optimizer : every_optimizer_and_adjusted()) {
      std::size_t const count = 50;
      auto expected = first_rows(optimizer, count, dim, random);
      HostCuda::Floats rows, gradients;
      fill(cuda, rows, expected);
      for (int step = 0; step != 10; ++step) {
        auto const values = random.numbers(count * dim);
        fill(cuda, gradients, values);
        cpu.update(optimizer, expected, values, dim);
        cuda.update(optimizer, rows, gradients, dim);
      }
      EXPECT_EQ(content(cuda, rows), expected) << name_of(optimizer) << ' ' << dim;
    }
  }
}

TEST(CudaKernels, OneRowMayBeAWholeDenseTable) {
  Cpu cpu;
  HostCuda cuda;
  Random random(4);
  std::size_t const dim = 100003;
  auto expected = first_rows(Adam{}, 1, dim, random);
  auto const values = random.numbers(dim);
  HostCuda::Floats rows, gradients;
  fill(cuda, rows, expected);
  fill(cuda, gradients, values);
  cpu.update(Adam{}, expected, values, dim);
  cuda.update(Adam{}, rows, gradients, dim);
  EXPECT_EQ(content(cuda, rows), expected);
}

TEST(CudaKernels, FailuresOfThrustReadAsOnesOfCuda) {
  auto const failing = [](auto const& failure) {
    return [&failure] { detail::on_device<HostSystem>([&](auto const&) { throw failure; }); };
  };
  auto const launch = thrown(failing(thrust::system_error(cudaErrorIllegalAddress, thrust::generic_category())));
  EXPECT_EQ(launch.code(), Errc::internal);
  EXPECT_NE(launch.message().find("cudaErrorIllegalAddress"), std::string_view::npos) << launch.what();
  EXPECT_EQ(thrown(failing(std::bad_alloc())).code(), Errc::table_memory);
}

}  // namespace
}  // namespace prdist::test
