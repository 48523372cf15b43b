#include <prdist/launch/rendezvous/memory_store.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using std::chrono::seconds;

namespace {

struct MemoryStoreTest : testing::Test {
  MemoryKeys keys;
  MemoryKeys::TimePoint now{};
  MemoryStore store{keys, now};
};

}  // namespace

TEST_F(MemoryStoreTest, WritesOnlyForWhoHasSeenTheLastVersion) {
  EXPECT_TRUE(store.put_if("/a", "1", 0, 0).value());
  EXPECT_FALSE(store.put_if("/a", "2", 0, 0).value());
  auto const version = store.list("/").value().at(0).version;
  EXPECT_TRUE(store.put_if("/a", "2", version, 0).value());
  EXPECT_FALSE(store.put_if("/a", "3", version, 0).value());
  EXPECT_EQ(store.list("/").value().at(0).value, "2");
  EXPECT_FALSE(store.put_if("/b", "1", 7, 0).value()) << "a key that is not there has version 0";
}

TEST_F(MemoryStoreTest, ListsWhatBeginsWithThePrefixByKey) {
  for (auto const* key : {"/job/b", "/job/a", "/jobs", "/jo"}) ASSERT_TRUE(store.put_if(key, key, 0, 0).value());
  auto const found = store.list("/job/").value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].key, "/job/a");
  EXPECT_EQ(found[1].key, "/job/b");
}

TEST_F(MemoryStoreTest, ALeaseThatIsNotKeptTakesItsOwnKeysAlone) {
  auto const mine = store.grant(seconds(10)).value();
  auto const other = store.grant(seconds(10)).value();
  ASSERT_TRUE(store.put_if("/mine", "", 0, mine).value());
  ASSERT_TRUE(store.put_if("/other", "", 0, other).value());
  ASSERT_TRUE(store.put_if("/stays", "", 0, 0).value());
  now += seconds(6);
  EXPECT_TRUE(store.keep_alive(other).value());
  now += seconds(6);
  EXPECT_FALSE(store.keep_alive(mine).value());
  auto const left = store.list("/").value();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].key, "/other");
  EXPECT_EQ(left[1].key, "/stays");
  auto const late = store.put_if("/mine", "", 0, mine);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Errc::job_stale);
}

TEST_F(MemoryStoreTest, ALeaseCanBeGivenBack) {
  auto const lease = store.grant(seconds(10)).value();
  ASSERT_TRUE(store.put_if("/a", "", 0, lease).value());
  ASSERT_TRUE(store.put_if("/b", "", 0, 0).value());
  EXPECT_TRUE(store.revoke(0)) << "no lease: no key hangs on it";
  EXPECT_EQ(store.list("/").value().size(), 2U);
  EXPECT_TRUE(store.revoke(lease));
  EXPECT_EQ(store.list("/").value().size(), 1U);
}

TEST_F(MemoryStoreTest, WhoeverReachesItCannotFillTheMemory) {
  auto const large = store.put_if("/a", std::string(MemoryKeys::most_bytes + 1, 'x'), 0, 0);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message(), "store: it holds 16384 keys of 4194304 bytes at most");
  for (std::size_t i = 0; i < MemoryKeys::most_keys; ++i) ASSERT_TRUE(store.put_if(concat(i), "", 0, 0).value());
  EXPECT_FALSE(store.put_if("one more", "", 0, 0));
  for (std::size_t i = 0; i < MemoryKeys::most_leases; ++i) ASSERT_TRUE(store.grant(seconds(10)));
  EXPECT_EQ(store.grant(seconds(10)).error().message(), "store: it holds 16384 leases at most");
}
