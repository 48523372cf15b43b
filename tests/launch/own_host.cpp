#include <prdist/launch/own_host.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>

using namespace prdist;

TEST(OwnHost, SpellsEachHostOneWay) {
  EXPECT_EQ(canonical_host("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(canonical_host("0:0:0:0:0:0:0:1"), "::1");
  EXPECT_EQ(canonical_host("FD00::0001"), "fd00::1");
  EXPECT_EQ(canonical_host("::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(canonical_host("Node-1.Example.Com."), "node-1.example.com");
}

TEST(OwnHost, HasLoopbackLastAndEachAddressOnce) {
  auto const addresses = own_addresses();
  ASSERT_FALSE(addresses.empty());
  auto sorted = addresses;
  std::ranges::stable_sort(sorted, {}, detail::reach_of);
  EXPECT_EQ(addresses, sorted);
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
}

// Debian's /etc/hosts gives a machine's name that address; no interface has it, so nobody reaches it there.
TEST(OwnHost, DoesNotTakeWhatItsNameResolvesToForItsAddress) {
  auto const addresses = own_addresses();
  EXPECT_EQ(std::ranges::find(addresses, "127.0.1.1"), addresses.end());
  auto const reachable = [](auto const& address) { return detail::reach_of(address) < 4; };
  EXPECT_EQ(reachable(addresses.front()), std::ranges::any_of(addresses, reachable));
}

TEST(OwnHost, KnowsItselfByAddressAndByName) {
  EXPECT_TRUE(is_own_host("127.0.0.1"));
  EXPECT_TRUE(is_own_host("127.0.0.2"));
  EXPECT_TRUE(is_own_host("localhost"));
  for (auto const& address : own_addresses()) EXPECT_TRUE(is_own_host(address)) << address;
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  EXPECT_TRUE(is_own_host(name.data()));
}

TEST(OwnHost, ComparesWholeAddresses) {
  EXPECT_FALSE(is_own_host("203.0.113.1"));  // an address of documents, nobody's
  EXPECT_FALSE(is_own_host("2001:db8::1"));
  for (auto const& address : own_addresses()) {
    // No prefix and no longer text of an own address is own: 10.0.0.1 is not 10.0.0.10.
    bool const v4 = address.find(':') == std::string::npos && !address.starts_with("127.");
    if (v4 && address.size() > 1 && address[address.size() - 2] == '.') {
      EXPECT_FALSE(is_own_host(address + '0')) << address;
    }
  }
}
