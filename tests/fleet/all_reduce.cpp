#include <prdist/fleet/all_reduce.hpp>

#include <gtest/gtest.h>

#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

TEST(AllReduce, GivesEveryWorkerTheSame) {
  spawn<Transport<Memory>>(2, 3, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto const own = static_cast<double>(fleet.worker_index());
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(fleet.all_reduce(std::vector{own, 1.0, -own}, Reduce::sum), (std::vector{3.0, 3.0, -3.0}));
      EXPECT_EQ(fleet.all_reduce(std::vector{own, -own}, Reduce::min), (std::vector{0.0, -2.0}));
      EXPECT_EQ(fleet.all_reduce(std::vector{own, -own}, Reduce::max), (std::vector{2.0, 0.0}));
      EXPECT_EQ(fleet.all_reduce(std::vector<double>{}), std::vector<double>{});
    }
    fleet.stop_worker();
  });
}

TEST(AllReduce, DifferentNumbersOfThemAreNamed) {
  spawn<Transport<Memory>>(1, 2, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto const error = thrown([&] { (void)fleet.all_reduce(std::vector<double>(1 + fleet.worker_index())); });
    EXPECT_EQ(error.code(), Errc::config_contradiction);
    EXPECT_TRUE(holds(error.what(), "all_reduce 'all_reduce': worker ")) << error.what();
    fleet.stop_worker();
  });
}

}  // namespace
}  // namespace prdist::test
