#include <prdist/optim/optimizer.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

namespace {

struct WithoutFirstState {
  float rate;
  static constexpr std::string_view name = "bad";
  static constexpr std::size_t state_per_element = 0;
  static constexpr std::size_t state_per_row = 0;
};

template <class Rules>
struct TypesOf;
template <class... Rules>
struct TypesOf<std::variant<Rules...>> {
  using type = testing::Types<Rules...>;
};

}  // namespace

static_assert(!update_rule<WithoutFirstState> && !update_rule<int> && !update_rule<Optimizer>);
static_assert(std::is_trivially_copyable_v<Schedule>, "kernels on a GPU carry it");

template <class Rule>
class EveryRule : public testing::Test {};
TYPED_TEST_SUITE(EveryRule, TypesOf<UpdateRule>::type, );

TYPED_TEST(EveryRule, IsOne) {
  EXPECT_TRUE(update_rule<TypeParam>);
}

TYPED_TEST(EveryRule, IsOneOfTheOptimizers) {
  Optimizer const optimizer = TypeParam{};
  EXPECT_EQ(name_of(optimizer), TypeParam::name);
  EXPECT_EQ(row_floats(optimizer, 10), 10 * (1 + TypeParam::state_per_element) + TypeParam::state_per_row);
}

// A declaration carries the fields: one that fields() forgets would silently be the default on the server.
TYPED_TEST(EveryRule, FieldsNameEveryNumber) {
  TypeParam rule, copy;
  std::set<std::string> names;
  TypeParam::fields(rule, [&](char const* name, auto& value, Limit limit) {
    EXPECT_TRUE(within(limit, static_cast<double>(value))) << name << ": " << text_of(limit);
    EXPECT_TRUE(names.insert(name).second) << name;
    value = static_cast<std::remove_reference_t<decltype(value)>>(0.625F);
  });
  EXPECT_FALSE(rule == copy);
  std::vector<double> values;
  TypeParam::fields(std::as_const(rule), [&](char const*, auto const& value, Limit) { values.push_back(value); });
  EXPECT_EQ(values.size(), names.size());
  std::size_t at = 0;
  TypeParam::fields(copy, [&](char const*, auto& value, Limit) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(values[at++]);
  });
  EXPECT_TRUE(rule == copy);
  // Padding aside, the fields are all there is.
  std::size_t bytes = 0;
  TypeParam::fields(rule, [&](char const*, auto const& value, Limit) { bytes += sizeof value; });
  EXPECT_GT(bytes + alignof(TypeParam), sizeof(TypeParam));
}

TEST(Optimizer, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (auto const& optimizer : test::every_optimizer()) names.insert(name_of(optimizer));
  EXPECT_EQ(names.size(), std::variant_size_v<UpdateRule>);
}

TEST(Optimizer, TakesWhatElseThereIsInAnyOrder) {
  Penalty const penalty{.l1 = 0.5F};
  Bounds const bounds{-1, 1};
  auto const schedule = Schedule::cosine(10);
  Optimizer const all{Adam{}, penalty, bounds, schedule};
  EXPECT_EQ(all, (Optimizer{Adam{}, schedule, penalty, bounds}));
  EXPECT_TRUE(std::holds_alternative<Adam>(all.rule));
  EXPECT_FALSE(all.is_plain());
  EXPECT_TRUE(Optimizer(Adam{}).is_plain());
  for (Optimizer const& one : {Optimizer{Adam{}, penalty}, Optimizer{Adam{}, bounds}, Optimizer{Adam{}, schedule}}) {
    EXPECT_FALSE(one.is_plain());
    EXPECT_NE(one, Optimizer(Adam{}));
    EXPECT_NE(one, all);
  }
}

TEST(Optimizer, OnlyAScheduledRowHasAnAge) {
  for (auto const& plain : test::every_optimizer()) {
    auto bounded = plain;
    bounded.bounds = {-1, 1};
    EXPECT_EQ(row_floats(bounded, 7), row_floats(plain, 7));
    auto scheduled = plain;
    scheduled.schedule = Schedule::step(10, 0.5F);
    EXPECT_EQ(row_floats(scheduled, 7), row_floats(plain, 7) + 1);
  }
}

TEST(Optimizer, VisitGivesThePlainRuleWhenThereIsNothingElse) {
  auto const adjusted = [](Optimizer const& optimizer) {
    return visit_rule(optimizer, []<class Rule>(Rule const&) { return !update_rule<Rule>; });
  };
  EXPECT_FALSE(adjusted(Adam{}));
  EXPECT_TRUE(adjusted({Adam{}, Bounds{-1, 1}}));
  EXPECT_TRUE(adjusted({Adam{}, Schedule::constant().with_warmup(3)}));
  EXPECT_FALSE(adjusted({Adam{}, Schedule::constant()}));
}
