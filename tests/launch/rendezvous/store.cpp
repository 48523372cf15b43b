#include <prdist/launch/rendezvous/store.hpp>

#include <gtest/gtest.h>

#include <concepts>

#include <prdist/launch/rendezvous/memory_store.hpp>

using namespace prdist;

// Two nodes with a store each share nothing but what is behind it: neither is copied.
TEST(Store, IsAnInterfaceThatNobodyCopies) {
  static_assert(std::derived_from<MemoryStore, Store>);
  static_assert(!std::copyable<MemoryStore> && std::has_virtual_destructor_v<Store>);
  EXPECT_EQ(StoreEntry{}.version, 0U) << "the version of a key that is not there";
}
