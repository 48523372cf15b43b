// expect: constraint
// expect-gcc: the required expression .choice\.step\(step\). is invalid
// expect-clang: 'Idle' does not satisfy 'can_step'
#include <string_view>

#include <prdist/concepts/strategy.hpp>

struct Idle {
  static constexpr std::string_view name = "idle";
  static constexpr prdist::ApplyRule apply = prdist::ApplyRule::immediate;
#ifdef CONTROL
  void step(prdist::Step&) {}
#endif
};

using Chosen = prdist::Strategy<Idle>::choice;
