#include <prdist/core/nics.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

using namespace prdist;
using test::thrown;

namespace {

std::vector<Nic> const some{{"lo", {"127.0.0.1", "::1"}}, {"eth0", {"10.0.0.4", "fd00::4"}}, {"dummy", {}}};

}  // namespace

TEST(Nics, ThisMachineHasOneForLoopback) {
  auto const addresses = addresses_of_nics("lo", all_nics());
  EXPECT_NE(std::ranges::find(addresses, "127.0.0.1"), addresses.end());
  for (auto const& nic : all_nics()) {
    for (auto const& address : nic.addresses) EXPECT_FALSE(address.starts_with("fe80:")) << nic.name;
  }
}

TEST(Nics, AddressesOfBothFamiliesInTheOrderOfTheNames) {
  EXPECT_EQ(addresses_of_nics("eth0", some), (std::vector<std::string>{"10.0.0.4", "fd00::4"}));
  EXPECT_EQ(addresses_of_nics("eth0,lo,eth0", some),
            (std::vector<std::string>{"10.0.0.4", "fd00::4", "127.0.0.1", "::1"}));
}

TEST(Nics, AnUnknownOneIsAnErrorThatListsThoseThereAre) {
  auto const unknown = thrown([] { (void)addresses_of_nics("eth0,xgbe0", some); });
  EXPECT_EQ(unknown.code(), Errc::config_invalid);
  EXPECT_EQ(unknown.message(),
            "--nics 'eth0,xgbe0': there is no interface 'xgbe0' on this machine; there are lo, eth0, dummy: name some "
            "of them, or none for all");
  EXPECT_EQ(thrown([] { (void)addresses_of_nics("dummy", some); }).message(),
            "--nics 'dummy': interface 'dummy' has no address: give it one, or leave it out");
}
