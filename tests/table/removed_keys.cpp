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
