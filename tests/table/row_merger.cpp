#include <prdist/table/row_merger.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "../support/thrown.hpp"

using namespace prdist;

namespace {

template <class Values>
std::vector<typename Values::value_type> listed(Values const& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST(RowMerger, SumsEachKeyOnceByTheSharesOfTheParts) {
  std::vector<Key> const first_keys{1, 2, 1}, second_keys{2, 3};
  std::vector<float> const first{1, 2, 3, 4, 5, 6}, second{8, 8, 16, 16};
  std::vector<float> const shown{1, 0, 2, 1, 4, 2};
  std::vector<std::vector<PushRows>> const step{{{1, 0, 3, true, 0, first_keys, first, {}, shown}},
                                                {{1, 1, 1, true, 0, second_keys, second, {}}}};
  RowMerger merger(2, true);
  for (int again = 0; again < 2; ++again) {
    merger.merge(step, [](std::uint64_t) { return true; });
    EXPECT_EQ(listed(merger.keys()), (std::vector<Key>{1, 2, 3}));
    EXPECT_EQ(listed(merger.gradients()),
              (std::vector<float>{0.75F * 1 + 0.75F * 5, 0.75F * 2 + 0.75F * 6, 0.75F * 3 + 2, 0.75F * 4 + 2, 4, 4}));
    EXPECT_EQ(listed(merger.show_click()), (std::vector<float>{5, 2, 3, 1, 1, 0}))
        << "the second part said nothing: each key was shown once";
  }
  merger.merge(step, [](std::uint64_t hash) { return hash == hash_key(3); });
  EXPECT_EQ(listed(merger.keys()), std::vector<Key>{3});
}

TEST(RowMerger, CountsNothingUnlessAsked) {
  std::vector<Key> const keys{1};
  std::vector<float> const gradients{1};
  RowMerger merger(1, false);
  merger.merge({{{1, 0, 1, true, 0, keys, gradients, {}}}}, [](std::uint64_t) { return true; });
  EXPECT_TRUE(merger.show_click().empty());
}

TEST(ShowClick, TwoFiniteNumbersForEachKeyOrNone) {
  std::vector<Key> const keys{7, 8};
  auto const said = [&](std::vector<float> const& shown) {
    return std::string(test::thrown([&] { check_show_click("ads", keys, shown); }).what());
  };
  EXPECT_NO_THROW(check_show_click("ads", keys, {}));
  EXPECT_NO_THROW(check_show_click("ads", keys, std::vector<float>{1, 0, 0.5F, -1}));
  EXPECT_EQ(said({1, 0, 1}),
            "prdist[table.shape] push to table 'ads': 3 shows and clicks for 2 keys: give two numbers each, or none");
  EXPECT_EQ(said({1, 0, std::nanf(""), 0}),
            "prdist[config.invalid] push to table 'ads': the shows of key 8 are nan: give finite numbers");
  EXPECT_EQ(said({1, -HUGE_VALF, 1, 0}),
            "prdist[config.invalid] push to table 'ads': the clicks of key 7 are -inf: give finite numbers");
}
