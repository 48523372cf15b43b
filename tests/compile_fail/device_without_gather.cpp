// expect: constraint
// expect-gcc: the required expression .choice\.gather\(from, index, dim, to\). is invalid
// expect-clang: 'Abacus' does not satisfy 'can_gather'
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <prdist/concepts/device.hpp>

struct Abacus {
  static constexpr std::string_view name = "abacus";
  using Floats = std::vector<float>;
  void resize(Floats&, std::size_t) {}
  std::span<float> staging(Floats& floats) { return floats; }
  std::span<float> view(Floats& floats) { return floats; }
  void upload(Floats&) {}
  void download(Floats&) {}
  void zero(Floats&) {}
#ifdef CONTROL
  void gather(Floats&, std::span<std::uint32_t const>, std::size_t, Floats&) {}
#endif
  void scatter_add(Floats&, std::span<std::uint32_t const>, std::size_t, Floats&) {}
  void update(prdist::Optimizer const&, Floats&, Floats&, std::size_t) {}
};

using Chosen = prdist::Device<Abacus>::choice;
