#include <prdist/optim/optimizer.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace prdist;

namespace {

template <class Rule>
struct WithoutFirstState {
  static constexpr std::string_view name = "bad";
  static constexpr std::size_t state_per_element = 0;
  static constexpr std::size_t state_per_row = 0;
};

}  // namespace

static_assert(update_rule<Sgd> && update_rule<Momentum> && update_rule<Adagrad> && update_rule<Adam>);
static_assert(!update_rule<WithoutFirstState<void>> && !update_rule<int>);

template <class Rule>
class EveryRule : public testing::Test {};
using Rules = testing::Types<Sgd, Momentum, Adagrad, Adam>;
TYPED_TEST_SUITE(EveryRule, Rules, );

TYPED_TEST(EveryRule, IsOneOfTheOptimizers) {
  Optimizer const optimizer = TypeParam{};
  EXPECT_EQ(name_of(optimizer), TypeParam::name);
  EXPECT_EQ(row_floats(optimizer, 10), 10 * (1 + TypeParam::state_per_element) + TypeParam::state_per_row);
}

// A declaration carries the fields: one that fields() forgets would silently be the default on the server.
TYPED_TEST(EveryRule, FieldsNameEveryNumber) {
  TypeParam rule, copy;
  std::set<std::string> names;
  TypeParam::fields(rule, [&](char const* name, auto& value) {
    EXPECT_TRUE(names.insert(name).second) << name;
    value = static_cast<std::remove_reference_t<decltype(value)>>(0.625F);
  });
  EXPECT_FALSE(rule == copy);
  std::vector<double> values;
  TypeParam::fields(std::as_const(rule), [&](char const*, auto const& value) { values.push_back(value); });
  EXPECT_EQ(values.size(), names.size());
  std::size_t at = 0;
  TypeParam::fields(copy, [&](char const*, auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(values[at++]);
  });
  EXPECT_TRUE(rule == copy);
  // Padding aside, the fields are all there is.
  std::size_t bytes = 0;
  TypeParam::fields(rule, [&](char const*, auto const& value) { bytes += sizeof value; });
  EXPECT_GT(bytes + alignof(TypeParam), sizeof(TypeParam));
}

TEST(Optimizer, NamesAreDistinct) {
  std::set<std::string_view> const names{Sgd::name, Momentum::name, Adagrad::name, Adam::name};
  EXPECT_EQ(names.size(), std::variant_size_v<Optimizer>);
}
