// The system of BasicCuda that this machine always has: the GPU's memory is memory of its own on the heap, where
// AddressSanitizer watches it, and Thrust runs the functors on the CPU.
#pragma once

#include <thrust/system/cpp/execution_policy.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <prdist/device/cuda_kernels.hpp>

namespace prdist::test {

struct HostSystem {
  static constexpr std::string_view name = "thrust-host";

  static void open() {}
  static void copy(void* to, void const* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

  template <int Kind>
  struct Heap {
    static inline std::size_t allocations = 0;
    static inline std::size_t alive = 0;
    static inline std::size_t most_bytes = static_cast<std::size_t>(-1);

    static void* allocate(std::size_t bytes) {
      if (bytes > most_bytes) check(cudaErrorMemoryAllocation);
      ++allocations;
      ++alive;
      auto* const memory = std::malloc(bytes);
      std::memset(memory, 0xEE, bytes);  // as undefined as the GPU's
      return memory;
    }
    static void release(void* memory) noexcept {
      --alive;
      std::free(memory);
    }
    static void clear(void* memory, std::size_t bytes) { std::memset(memory, 0, bytes); }
  };
  using Memory = Heap<0>;
  using Staging = Heap<1>;
};

[[nodiscard]] inline auto execution(HostSystem) {
  return thrust::cpp::par;
}

using HostCuda = BasicCuda<HostSystem>;

}  // namespace prdist::test
