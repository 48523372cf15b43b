// SPDX-License-Identifier: Apache-2.0
// Computing on a GPU: floats in its memory, staged through pinned memory of the host. This header is plain C++ and
// needs the CUDA runtime alone; the computation is in device/cuda_kernels.hpp, which one .cu file of the program
// includes to instantiate it: template class prdist::BasicCuda<prdist::CudaSystem>;
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <boost/assert/source_location.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <prdist/concepts/device.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

/// Success passes; anything else is thrown as an Error that names the place of the call.
/// @throws Error config.invalid without a usable driver or GPU, table.memory when the GPU's memory is used up,
/// internal.error otherwise
inline void check(cudaError_t status, boost::source_location const& where = BOOST_CURRENT_LOCATION) {
  if (status == cudaSuccess) return;
  auto const fail = [&](Errc code, std::string_view what, std::string_view next) {
    throw Error(code, "Device<Cuda>: ", what, " (", cudaGetErrorName(status), ": ", cudaGetErrorString(status),
                "), at ", where.file_name(), ':', where.line(), ": ", next);
  };
  switch (status) {
    case cudaErrorInsufficientDriver:
      fail(Errc::config_invalid, "this machine has no NVIDIA driver, or one older than the CUDA runtime of the program",
           "install or renew the driver, or take Device<Cpu>");
      break;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      fail(Errc::config_invalid, "the driver shows no GPU to this process",
           "see nvidia-smi and CUDA_VISIBLE_DEVICES, or take Device<Cpu>");
      break;
    case cudaErrorMemoryAllocation:
      fail(Errc::table_memory, "no memory left", "take smaller batches, or end what else runs on the GPU");
      break;
    default:
      fail(Errc::internal, "a CUDA call failed",
           "the fault may lie in an earlier kernel; run under compute-sanitizer to find it");
  }
}

/// What BasicCuda asks of a system: two kinds of memory, copies between any two places, and the Thrust execution
/// policy that execution(System) returns.
struct CudaSystem {
  static constexpr std::string_view name = "cuda";

  /// @throws Error config.invalid when there is no GPU to work on
  static void open() {
    int count = 0;
    check(cudaGetDeviceCount(&count));
    if (count == 0) check(cudaErrorNoDevice);
  }

  /// Waits for the copy, and before it for all work on the default stream.
  static void copy(void* to, void const* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
    check(cudaStreamSynchronize(nullptr));  // a copy within the GPU's memory does not wait by itself
  }

  struct Memory {
    static void* allocate(std::size_t bytes) {
      void* memory = nullptr;
      check(cudaMalloc(&memory, bytes));
      return memory;
    }
    static void release(void* memory) noexcept { cudaFree(memory); }
    static void clear(void* memory, std::size_t bytes) { check(cudaMemset(memory, 0, bytes)); }
  };

  /// Pinned: the GPU copies from and to it without the detour that pageable memory needs.
  struct Staging {
    static void* allocate(std::size_t bytes) {
      void* memory = nullptr;
      check(cudaMallocHost(&memory, bytes));
      return memory;
    }
    static void release(void* memory) noexcept { cudaFreeHost(memory); }
    static void clear(void* memory, std::size_t bytes) { std::memset(memory, 0, bytes); }
  };
};

namespace detail {

/// A vector of plain values in memory that the host may not be able to touch.
template <class Value, class System, class Memory>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) Memory::release(data_);
  }

  /// Keeps what there is, and adds zeros.
  void resize(std::size_t count) {
    if (count > capacity_) {
      DeviceBuffer larger;
      // Room to spare, because the sizes of batches vary and an allocation stops the whole GPU.
      auto const capacity = std::max(count, capacity_ + capacity_ / 2);
      larger.data_ = static_cast<Value*>(Memory::allocate(capacity * sizeof(Value)));
      larger.capacity_ = capacity;
      larger.size_ = size_;
      if (size_ != 0) System::copy(larger.data_, data_, size_ * sizeof(Value));
      swap(larger);
    }
    if (count > size_) Memory::clear(data_ + size_, (count - size_) * sizeof(Value));
    size_ = count;
  }

  [[nodiscard]] Value* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  Value* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace detail

/// Everything runs on the default stream: kernels of a model see finished data, and these functions see what such
/// kernels wrote. One object serves one thread at a time. A template over the system, so that all of it but the
/// system also runs where there is no GPU.
template <class System>
class BasicCuda {
 public:
  static constexpr std::string_view name = System::name;

  /// The view is the GPU's memory, not to be read by the host. The staging side is made when it is first asked for.
  class Floats {
   public:
    [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }

   private:
    friend BasicCuda;
    detail::DeviceBuffer<float, System, typename System::Memory> memory_;
    detail::DeviceBuffer<float, System, typename System::Staging> staging_;
  };

  /// The first GPU that CUDA_VISIBLE_DEVICES shows.
  /// @throws Error config.invalid when there is none
  BasicCuda() { System::open(); }
  /// Copies work on the same GPU, each with working memory of its own.
  BasicCuda(BasicCuda const&) noexcept {}
  BasicCuda& operator=(BasicCuda const&) noexcept { return *this; }

  /// Keeps what there is on both sides, and adds zeros.
  void resize(Floats& floats, std::size_t count) {
    floats.memory_.resize(count);
    if (floats.staging_.size() != 0) floats.staging_.resize(count);
  }
  [[nodiscard]] std::span<float> staging(Floats& floats) {
    floats.staging_.resize(floats.size());
    return {floats.staging_.data(), floats.size()};
  }
  [[nodiscard]] std::span<float> view(Floats& floats) { return {floats.memory_.data(), floats.size()}; }

  /// Upload and download return when the copy is done.
  void upload(Floats& floats) {
    if (auto const from = staging(floats); !from.empty()) {
      System::copy(floats.memory_.data(), from.data(), from.size_bytes());
    }
  }
  void download(Floats& floats) {
    if (auto const to = staging(floats); !to.empty()) {
      System::copy(to.data(), floats.memory_.data(), to.size_bytes());
    }
  }
  void zero(Floats& floats) {
    if (floats.size() != 0) System::Memory::clear(floats.memory_.data(), floats.size() * sizeof(float));
  }

  /// `to` has room for index.size() rows, and every index is that of a row of `from`: neither is checked on the GPU.
  void gather(Floats const& from, std::span<std::uint32_t const> index, std::size_t dim, Floats& to);

  /// The parts of one row are added in the order of their positions, so the sums are those of Cpu to the last bit.
  /// That makes a row's additions a chain: a row named by every position costs index.size() steps.
  void scatter_add(Floats const& from, std::span<std::uint32_t const> index, std::size_t dim, Floats& to);

  /// The same bytes as Cpu, provided that the .cu file is compiled without fused multiply-add (prdist::cuda sees to
  /// it).
  void update(Optimizer const& optimizer, Floats& rows, Floats const& gradients, std::size_t dim);

 private:
  detail::DeviceBuffer<std::uint32_t, System, typename System::Memory> index_, order_;
};

using Cuda = BasicCuda<CudaSystem>;

// Plain C++ calls what the .cu file of the program instantiates.
#if !defined(__CUDACC__)
extern template class BasicCuda<CudaSystem>;
#endif

}  // namespace prdist
