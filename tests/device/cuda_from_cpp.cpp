// The other side: a fleet composed in plain C++, with its networking, and linked with what nvcc made.
#include <prdist/fleet.hpp>

#include <prdist/device/cuda.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

TEST(CudaFromCpp, WithoutAGpuTheFleetSaysSoAtOnce) {
  if (has_gpu()) GTEST_SKIP() << "this machine has a GPU";
  auto const alone = thrown([] { Cuda const cuda; });
  auto const composed = thrown([] { Fleet<Device<Cuda>> const fleet{Roles{Role::worker, 0, {{"127.0.0.1", 1}}, 1}}; });
  for (auto const& error : {alone, composed}) {
    EXPECT_EQ(error.code(), Errc::config_invalid);
    EXPECT_EQ(exit_code(error.code()), 78) << "a launcher does not try again";
    EXPECT_TRUE(holds(error.what(), "prdist[config.invalid] Device<Cuda>: "));
    EXPECT_TRUE(holds(error.what(), "take Device<Cpu>"));
  }
}

TEST(CudaFromCpp, CallsWhatTheCudaFileInstantiates) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has no GPU";
  Cuda cuda;
  Cuda::Floats from, to;
  cuda.resize(from, 3);
  cuda.resize(to, 2);
  for (std::size_t i = 0; i < 3; ++i) cuda.staging(from)[i] = static_cast<float>(i + 1);
  cuda.upload(from);
  cuda.gather(from, std::vector<std::uint32_t>{2, 0}, 1, to);
  cuda.download(to);
  EXPECT_EQ(cuda.staging(to)[0], 3.0F);
  EXPECT_EQ(cuda.staging(to)[1], 1.0F);
  cuda.scatter_add(to, std::vector<std::uint32_t>{1, 1}, 1, from);
  cuda.update(Sgd{}, from, from, 3);
}

}  // namespace
}  // namespace prdist::test
