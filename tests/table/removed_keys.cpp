#include <prdist/table/removed_keys.hpp>

#include <gtest/gtest.h>

#include <set>

using namespace prdist;

namespace {

std::set<Key> before(RemovedKeys const& removed) {
  return {removed.before().begin(), removed.before().end()};
}

/// One whose first cut was kept.
RemovedKeys noting() {
  RemovedKeys removed;
  removed.begin_cut();
  removed.keep_cut();
  return removed;
}

}  // namespace

TEST(RemovedKeys, NothingIsNotedBeforeTheFirstCut) {
  RemovedKeys removed;
  removed.erased(1);
  removed.begin_cut();
  EXPECT_TRUE(before(removed).empty());
  removed.erased(2);
  removed.cancel_cut(false);
  removed.erased(3);
  EXPECT_EQ(removed.bytes(), 0U) << "the first cut was none after all";
}

TEST(RemovedKeys, AKeyThatComesBackIsNotGone) {
  auto removed = noting();
  removed.erased(1);
  removed.erased(2);
  removed.inserted(1);
  removed.begin_cut();
  EXPECT_EQ(before(removed), std::set<Key>{2});
}

TEST(RemovedKeys, WhatGoesAfterTheMarkerIsInTheNextCut) {
  auto removed = noting();
  removed.erased(1);
  removed.begin_cut();
  removed.erased(2);
  removed.inserted(1);  // too late for this cut
  EXPECT_EQ(before(removed), std::set<Key>{1});
  removed.keep_cut();
  removed.begin_cut();
  EXPECT_EQ(before(removed), std::set<Key>{2});
}

TEST(RemovedKeys, AnAbandonedCutIsAsIfItHadNotBegun) {
  auto removed = noting();
  for (Key key = 1; key <= 4; ++key) removed.erased(key);
  removed.begin_cut();
  removed.inserted(1);  // back for good
  removed.inserted(2);  // back, and gone again
  removed.erased(2);
  removed.erased(5);
  removed.erased(6);
  removed.inserted(6);
  removed.cancel_cut(true);
  EXPECT_EQ(before(removed), (std::set<Key>{2, 3, 4, 5}));
}

TEST(RemovedKeys, NothingIsNotedForACutThatCannotBeKept) {
  RemovedKeys removed;
  removed.begin_cut(false);
  removed.erased(1);
  removed.cancel_cut(false);
  removed.erased(2);
  EXPECT_EQ(removed.bytes(), 0U);
  auto kept = noting();
  kept.erased(1);
  kept.begin_cut(false);
  kept.erased(2);
  kept.cancel_cut(true);
  EXPECT_EQ(before(kept), (std::set<Key>{1, 2})) << "the one that was kept before has a next one";
}

TEST(RemovedKeys, MoreThanThereIsRoomForAreForgottenUntilACutOfAllRowsIsKept) {
  std::size_t const most = 10 * RemovedKeys::bytes_per_key;
  RemovedKeys removed(RemovedKeys::share_of_ceiling * most);
  removed.begin_cut();
  removed.keep_cut();
  for (Key key = 0; key < 10; ++key) removed.erased(key);
  EXPECT_FALSE(removed.forgot());
  EXPECT_EQ(removed.bytes(), most);
  removed.erased(10);
  EXPECT_TRUE(removed.forgot());
  EXPECT_EQ(removed.bytes(), 0U);
  for (Key key = 0; key < 100; ++key) removed.erased(key);
  EXPECT_EQ(removed.bytes(), 0U) << "there is no use in noting the rest";
  removed.begin_cut();
  removed.keep_cut(false);
  EXPECT_TRUE(removed.forgot()) << "that was a cut of changes";
  removed.begin_cut();
  removed.erased(7);
  removed.keep_cut(true);
  EXPECT_FALSE(removed.forgot());
  EXPECT_EQ(before(removed), std::set<Key>{7});
}

TEST(RemovedKeys, WhatIsForgottenBehindAMarkerIsMissingInTheNextCutNotInThisOne) {
  RemovedKeys removed(RemovedKeys::share_of_ceiling * 3 * RemovedKeys::bytes_per_key);
  removed.begin_cut();
  removed.keep_cut();
  removed.erased(1);
  removed.erased(2);
  removed.begin_cut();
  for (Key key = 10; key < 20; ++key) removed.erased(key);
  EXPECT_EQ(before(removed), (std::set<Key>{1, 2})) << "somebody is on the way through them";
  EXPECT_LE(removed.bytes(), 3 * RemovedKeys::bytes_per_key);
  removed.keep_cut(true);
  EXPECT_TRUE(removed.forgot()) << "all rows, and of what went since not all is known";
}
