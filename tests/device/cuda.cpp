#include <prdist/device/cuda.hpp>

#include <gtest/gtest.h>

#include <utility>

#include "../support/thrown.hpp"
#include "host_system.hpp"

namespace prdist::test {
namespace {

static_assert(device_policy<Cuda> && Cuda::name == "cuda");

TEST(Cuda, CheckPassesSuccess) {
  EXPECT_NO_THROW(check(cudaSuccess));
}

TEST(Cuda, CheckSaysWhatAMachineWithoutADriverNeeds) {
  auto const error = thrown([] { check(cudaErrorInsufficientDriver); });
  EXPECT_EQ(error.code(), Errc::config_invalid);
  EXPECT_TRUE(
      holds(error.what(),
            "prdist[config.invalid] Device<Cuda>: this machine has no NVIDIA driver, or one older than the CUDA "
            "runtime of the program (cudaErrorInsufficientDriver: "));
  EXPECT_TRUE(holds(error.what(), "install or renew the driver, or take Device<Cpu>"));
}

TEST(Cuda, CheckNamesThePlaceOfTheCall) {
  unsigned line = 0;
  auto const error = thrown([&] {
    line = __LINE__ + 1;
    check(cudaErrorInvalidValue);
  });
  EXPECT_EQ(error.code(), Errc::internal);
  EXPECT_TRUE(holds(error.what(), concat("device/cuda.cpp:", line, ": ")));
  EXPECT_TRUE(holds(error.what(), "a CUDA call failed (cudaErrorInvalidValue: "));
  EXPECT_TRUE(holds(error.what(), "run under compute-sanitizer to find it"));
}

TEST(Cuda, CheckTellsAHiddenGpuFromAFullOne) {
  for (auto const status : {cudaErrorNoDevice, cudaErrorInvalidDevice}) {
    auto const hidden = thrown([&] { check(status); });
    EXPECT_EQ(hidden.code(), Errc::config_invalid);
    EXPECT_TRUE(holds(hidden.what(), "the driver shows no GPU to this process"));
    EXPECT_TRUE(holds(hidden.what(), "see nvidia-smi and CUDA_VISIBLE_DEVICES, or take Device<Cpu>"));
  }
  auto const full = thrown([] { check(cudaErrorMemoryAllocation); });
  EXPECT_EQ(full.code(), Errc::table_memory);
  EXPECT_TRUE(holds(full.what(), "take smaller batches, or end what else runs on the GPU"));
}

TEST(Cuda, StagingIsMadeForThoseWhoAskForIt) {
  HostCuda cuda;
  auto const before = HostSystem::Staging::allocations;
  HostCuda::Floats floats;
  cuda.resize(floats, 10);
  cuda.zero(floats);
  EXPECT_EQ(cuda.view(floats).size(), 10U);
  EXPECT_EQ(HostSystem::Staging::allocations, before);
  EXPECT_NE(cuda.staging(floats).data(), cuda.view(floats).data());
  EXPECT_EQ(HostSystem::Staging::allocations, before + 1);
}

TEST(Cuda, SizesSeenBeforeNeedNoNewMemory) {
  HostCuda cuda;
  HostCuda::Floats floats;
  cuda.resize(floats, 1000);
  auto const before = HostSystem::Memory::allocations;
  for (std::size_t const size : {10U, 1000U, 0U, 999U}) cuda.resize(floats, size);
  EXPECT_EQ(HostSystem::Memory::allocations, before);
}

TEST(Cuda, MemoryIsReleasedOnce) {
  auto const memory = HostSystem::Memory::alive, staging = HostSystem::Staging::alive;
  {
    HostCuda cuda;
    HostCuda::Floats first, second;
    for (auto* floats : {&first, &second}) {
      cuda.resize(*floats, 5);
      cuda.upload(*floats);
    }
    EXPECT_EQ(HostSystem::Memory::alive, memory + 2);
    first = std::move(second);
    auto third = std::move(first);
  }
  EXPECT_EQ(HostSystem::Memory::alive, memory);
  EXPECT_EQ(HostSystem::Staging::alive, staging);
}

TEST(Cuda, FloatsStayAsTheyAreWhenThereIsNoMemoryForMore) {
  HostCuda cuda;
  HostCuda::Floats floats;
  cuda.resize(floats, 2);
  cuda.view(floats)[1] = 5;
  HostSystem::Memory::most_bytes = 100;
  auto const error = thrown([&] { cuda.resize(floats, 1000); });
  HostSystem::Memory::most_bytes = static_cast<std::size_t>(-1);
  EXPECT_EQ(error.code(), Errc::table_memory);
  ASSERT_EQ(cuda.view(floats).size(), 2U);
  EXPECT_EQ(cuda.view(floats)[1], 5.0F);
}

}  // namespace
}  // namespace prdist::test
