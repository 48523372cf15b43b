#include <prdist/concepts/device.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <prdist/device/cpu.hpp>

using namespace prdist;

namespace {

using Index = std::span<std::uint32_t const>;

// Each promise alone, so that a device may lack exactly one of them.
struct Name {
  static constexpr std::string_view name = "whole";
};
struct Memory {
  using Floats = std::vector<float>;
  void resize(Floats&, std::size_t) {}
  std::span<float> staging(Floats& floats) { return floats; }
  std::span<float> view(Floats& floats) { return floats; }
};
struct Copies {
  void upload(std::vector<float>&) {}
  void download(std::vector<float>&) {}
  void zero(std::vector<float>&) {}
};
struct Gathers {
  void gather(std::vector<float>&, Index, std::size_t, std::vector<float>&) {}
};
struct ScatterAdds {
  void scatter_add(std::vector<float>&, Index, std::size_t, std::vector<float>&) {}
};
struct Updates {
  void update(Optimizer const&, std::vector<float>&, std::vector<float>&, std::size_t) {}
};

template <class... Promises>
struct With : Promises... {};

using Whole = With<Name, Memory, Copies, Gathers, ScatterAdds, Updates>;

static_assert(device_policy<Whole> && device_policy<Cpu>);

using WithoutName = With<Memory, Copies, Gathers, ScatterAdds, Updates>;
using WithoutMemory = With<Name, Copies, Gathers, ScatterAdds, Updates>;
using WithoutCopies = With<Name, Memory, Gathers, ScatterAdds, Updates>;
using WithoutGather = With<Name, Memory, Copies, ScatterAdds, Updates>;
using WithoutScatterAdd = With<Name, Memory, Copies, Gathers, Updates>;
using WithoutUpdate = With<Name, Memory, Copies, Gathers, ScatterAdds>;
static_assert(!named<WithoutName> && !device_policy<WithoutName>);
static_assert(!has_memory<WithoutMemory> && !device_policy<WithoutMemory>);
static_assert(!can_copy<WithoutCopies> && !device_policy<WithoutCopies>);
static_assert(!can_gather<WithoutGather> && !device_policy<WithoutGather>);
static_assert(!can_scatter_add<WithoutScatterAdd> && !device_policy<WithoutScatterAdd>);
static_assert(!can_update<WithoutUpdate> && !device_policy<WithoutUpdate>);

struct ViewByPointer : Memory {
  float* view(Floats& floats) { return floats.data(); }
};
static_assert(!has_memory<ViewByPointer>);

static_assert(policy_on<Device<Whole>, axis::device> && !policy_on<Device<Whole>, axis::strategy>);

template <class Choice>
concept wrapped = requires {
  typename Device<Choice>;
};
static_assert(wrapped<Whole> && !wrapped<WithoutGather> && !wrapped<WithoutMemory>);

}  // namespace

TEST(DeviceConcept, WrapperNamesTheChoice) {
  EXPECT_EQ(Device<Whole>::choice::name, "whole");
}
