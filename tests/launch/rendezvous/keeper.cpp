#include <prdist/launch/rendezvous/keeper.hpp>

#include <gtest/gtest.h>

#include <atomic>

#include <prdist/launch/rendezvous/memory_store.hpp>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;
using std::chrono::seconds;

namespace {

constexpr auto patience = seconds(20);

/// Answers or not, as the test says; told from two threads.
struct SwitchedStore : MemoryStore {
  using MemoryStore::MemoryStore;
  Result<std::vector<StoreEntry>> list(std::string const& prefix) override {
    if (away) return Error(Errc::transport_refused, "store: away");
    return MemoryStore::list(prefix);
  }
  std::atomic<bool> away = false;
};

struct SessionKeeperTest : testing::Test {
  void SetUp() override { first = session.round(now).value(); }

  /// Looks until what is looked for is there. Bounded; the keeper looks by itself.
  template <class Which>
  bool seen(SessionKeeper& keeper, Which&& which) {
    auto const deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (which(keeper.news())) return true;
      std::this_thread::yield();
    }
    return false;
  }

  MemoryKeys keys;
  MemoryKeys::TimePoint now{};
  SwitchedStore store{keys, now};
  NodeSession session{store, {"ctr", {1, 1}, seconds(10)}, node("a")};
  SessionView first;
};

}  // namespace

TEST_F(SessionKeeperTest, TellsWhatItIsGivenInOrder) {
  {
    SessionKeeper keeper(session, first);
    keeper.tell(JobFailure{"a", 7, "failed", false});
    keeper.tell(NodePhase::ended);
    EXPECT_TRUE(keeper.flush(patience));
    auto const news = keeper.news();
    EXPECT_TRUE(news.told);
    EXPECT_EQ(news.view.state.failure->code, 7);
    EXPECT_EQ(news.view.state.phase, JobPhase::ended);
  }
  EXPECT_EQ(keys.list("/prdist/ctr/state", now).size(), 1U);
}

TEST_F(SessionKeeperTest, AStoreThatIsAwayIsNewsAndItsReturnToo) {
  SessionKeeper keeper(session, first);
  store.away = true;
  EXPECT_TRUE(seen(keeper, [](auto const& news) { return news.trouble.has_value(); }));
  keeper.tell(NodePhase::trained);
  EXPECT_FALSE(keeper.flush(std::chrono::milliseconds(1)));
  EXPECT_TRUE(keeper.news().view.member) << "what was known stays known";
  store.away = false;
  EXPECT_TRUE(keeper.flush(patience));
  EXPECT_FALSE(keeper.news().trouble);
}
