#include <prdist/concepts/strategy.hpp>

#include <gtest/gtest.h>

#include <string_view>

#include <prdist/strategy/by_name.hpp>

using namespace prdist;

namespace {

struct Whole {
  static constexpr std::string_view name = "whole";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  void step(Step& it) { it.pull(); }
};
struct Nameless {
  static constexpr ApplyRule apply = ApplyRule::immediate;
  void step(Step&) {}
};
struct WithoutApply {
  static constexpr std::string_view name = "bad";
  void step(Step&) {}
};
struct ApplyIsText {
  static constexpr std::string_view name = "bad";
  static constexpr std::string_view apply = "immediate";
  void step(Step&) {}
};
struct WithoutStep {
  static constexpr std::string_view name = "bad";
  static constexpr ApplyRule apply = ApplyRule::immediate;
};
struct StepWithoutStep {
  static constexpr std::string_view name = "bad";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  void step() {}
};

static_assert(strategy_policy<Whole> && strategy_policy<Sync> && strategy_policy<HalfAsync> && strategy_policy<Async> &&
              strategy_policy<Geo> && strategy_policy<Ssp>);
static_assert(!named<Nameless> && has_apply_rule<Nameless> && can_step<Nameless> && !strategy_policy<Nameless>);
static_assert(!has_apply_rule<WithoutApply> && !strategy_policy<WithoutApply>);
static_assert(!has_apply_rule<ApplyIsText> && !strategy_policy<ApplyIsText>);
static_assert(!can_step<WithoutStep> && !strategy_policy<WithoutStep>);
static_assert(!can_step<StepWithoutStep> && !strategy_policy<StepWithoutStep>);
static_assert(policy_on<Strategy<Whole>, axis::strategy> && !policy_on<Strategy<Whole>, axis::transport>);

/// A name that fits whenever the wrapper may be formed.
template <class Choice>
concept wrapped = requires {
  typename Strategy<Choice>;
};
static_assert(wrapped<Whole> && !wrapped<WithoutStep> && !wrapped<int>);

}  // namespace

TEST(StrategyConcept, WrapperNamesTheChoice) {
  EXPECT_EQ(Strategy<Whole>::choice::name, "whole");
}
