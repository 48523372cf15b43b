#include <prdist/server/lane.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <vector>

using namespace prdist;

namespace {

std::unique_ptr<Lane> make_lane(bool threaded) {
  return std::make_unique<Lane>(std::bitset<shard_count>().set(), 1, no_ceiling, threaded);
}

}  // namespace

TEST(Lane, TasksAreDoneInOrder) {
  for (bool const threaded : {false, true}) {
    std::vector<int> order;
    auto lane = make_lane(threaded);
    for (int i = 0; i < 100; ++i) lane->post([&order, i](ShardGroup&) { order.push_back(i); });
    lane.reset();
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(Lane, AChoreBeginsAtItsPlaceAndGoesOnWhenNothingElseIsToDo) {
  for (bool const threaded : {false, true}) {
    auto lane = make_lane(threaded);
    bool before = false;
    int slices = 0;
    std::promise<bool> done;
    lane->post([&](ShardGroup&) { before = true; });
    lane->post(Lane::Chore{[&](ShardGroup&) {
                             if (++slices < 50) return Lane::Slice::more;
                             done.set_value(before);
                             return Lane::Slice::done;
                           },
                           [] { ADD_FAILURE() << "it was done"; }});
    EXPECT_TRUE(done.get_future().get());
    lane.reset();
    EXPECT_EQ(slices, 50);
  }
}

// At its ceiling a lane makes room by itself, when it has nothing else to do.
TEST(Lane, KeepsRoomForThePushesToCome) {
  for (bool const threaded : {false, true}) {
    Lane lane(std::bitset<shard_count>().set(), 1, std::size_t{8} << 20, threaded);
    auto const table = table_id("t");
    SparseSpec const spec{.name = "t", .dim = 16, .optimizer = Adagrad{}, .eviction = Eviction::lru};
    auto const evicted = [&] {
      std::promise<std::uint64_t> number;
      lane.post([&](ShardGroup& group) { number.set_value(group.evicted(table)); });
      return number.get_future().get();
    };
    lane.post([&](ShardGroup& group) {
      std::vector<Ticket> released;
      group.apply(DeclareSparse{table, spec}, released);
    });
    Key next = 0;
    std::vector<Key> keys(100);
    std::vector<float> const gradients(keys.size() * 16, 1.0F);
    std::uint64_t by_pushes = 0;
    while (by_pushes == 0) {
      for (auto& key : keys) key = ++next;
      std::promise<void> pushed;
      lane.post([&](ShardGroup& group) {
        std::vector<Ticket> released;
        group.apply(PushRows{table, 0, 1, true, 0, keys, gradients, nullptr}, released);
        by_pushes = group.evicted(table);
        pushed.set_value();
      });
      pushed.get_future().get();
    }
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (evicted() <= by_pushes && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_GT(evicted(), by_pushes);
  }
}

// Whoever waits for a disk is asked again without being told, and holds nobody up.
TEST(Lane, AChoreThatWaitsIsAskedAgain) {
  auto lane = make_lane(true);
  std::atomic<bool> go = false;
  std::promise<void> done;
  lane->post(Lane::Chore{[&](ShardGroup&) {
                           if (!go) return Lane::Slice::waits;
                           done.set_value();
                           return Lane::Slice::done;
                         },
                         [] {}});
  std::promise<void> passed;
  lane->post([&](ShardGroup&) { passed.set_value(); });
  passed.get_future().get();
  go = true;
  done.get_future().get();
}

// Tasks that post tasks: the queue is never empty, and the chore ends all the same.
TEST(Lane, AChoreEndsUnderConstantLoad) {
  auto lane = make_lane(true);
  std::atomic<bool> ended = false;
  std::promise<void> quiet;
  std::function<void(ShardGroup&)> busy = [&](ShardGroup&) { ended ? quiet.set_value() : lane->post(busy); };
  lane->post(busy);
  int slices = 0;
  lane->post(Lane::Chore{[&](ShardGroup&) {
                           if (++slices < 200) return Lane::Slice::more;
                           ended = true;
                           return Lane::Slice::done;
                         },
                         [] {}});
  quiet.get_future().get();
  EXPECT_EQ(slices, 200);
}

// Requests that post requests: slices, which take their time, come now and then, and the chore ends.
TEST(Lane, AChoreLeavesTheThreadToRequests) {
  using Clock = std::chrono::steady_clock;
  auto lane = make_lane(true);
  std::atomic<bool> ended = false;
  std::promise<void> quiet;
  int requests = 0, slices = 0;
  std::function<void(ShardGroup&)> busy = [&](ShardGroup&) {
    ++requests;
    ended ? quiet.set_value() : lane->serve(busy);
  };
  lane->serve(busy);
  lane->post(Lane::Chore{[&](ShardGroup&) {
                           auto const until = Clock::now() + std::chrono::microseconds(100);
                           while (Clock::now() < until) continue;
                           if (++slices < 100) return Lane::Slice::more;
                           ended = true;
                           return Lane::Slice::done;
                         },
                         [] {}});
  quiet.get_future().get();
  EXPECT_EQ(slices, 100);
  EXPECT_GT(requests, 2 * slices);
}

TEST(Lane, AChoreThatIsNotDoneAtTheEndIsAbandonedOnce) {
  for (bool const threaded : {false, true}) {
    int abandoned = 0;
    auto lane = make_lane(threaded);
    lane->post(Lane::Chore{[](ShardGroup&) { return Lane::Slice::waits; }, [&] { ++abandoned; }});
    lane.reset();
    EXPECT_EQ(abandoned, 1);
  }
}
