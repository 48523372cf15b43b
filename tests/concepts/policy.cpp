#include <prdist/concepts/policy.hpp>

#include <gtest/gtest.h>

#include <string_view>
#include <type_traits>

using namespace prdist;

namespace {

struct Fast {
  static constexpr std::string_view name = "fast";
};
struct Slow {
  static constexpr std::string_view name = "slow";
};
struct Nameless {};
struct NumberAsName {
  static constexpr int name = 7;
};

template <class Choice>
struct OnStrategy {
  using axis = prdist::axis::strategy;
  using choice = Choice;
};
template <class Choice>
struct OnDevice {
  using axis = prdist::axis::device;
  using choice = Choice;
};
struct WithoutChoice {
  using axis = prdist::axis::device;
};

static_assert(named<Fast> && !named<Nameless> && !named<NumberAsName>);
static_assert(policy<OnStrategy<Fast>> && !policy<Fast> && !policy<WithoutChoice> && !policy<int>);
static_assert(policy_on<OnStrategy<Fast>, axis::strategy> && !policy_on<OnStrategy<Fast>, axis::device>);
static_assert(!policy_on<Fast, axis::strategy>);

// Wherever a policy stands, it is the one of its axis; without one, the default.
static_assert(std::is_same_v<pick<axis::strategy, Slow>, Slow>);
static_assert(std::is_same_v<pick<axis::strategy, Slow, OnStrategy<Fast>>, Fast>);
static_assert(std::is_same_v<pick<axis::strategy, Slow, OnDevice<Nameless>, OnStrategy<Fast>>, Fast>);
static_assert(std::is_same_v<pick<axis::strategy, Slow, OnStrategy<Fast>, OnDevice<Nameless>>, Fast>);
static_assert(std::is_same_v<pick<axis::transport, Slow, OnStrategy<Fast>, OnDevice<Nameless>>, Slow>);

static_assert(count_on<axis::strategy> == 0);
static_assert(count_on<axis::strategy, OnStrategy<Fast>, OnDevice<Fast>, OnStrategy<Slow>> == 2);
static_assert(count_on<axis::device, OnStrategy<Fast>, OnDevice<Fast>, OnStrategy<Slow>> == 1);

}  // namespace

TEST(Policy, IsPickedByItsAxisInAnyOrder) {
  EXPECT_EQ((pick<axis::strategy, Slow, OnDevice<Slow>, OnStrategy<Fast>>::name), "fast");
  EXPECT_EQ((pick<axis::transport, Slow, OnDevice<Fast>, OnStrategy<Fast>>::name), "slow");
}
