#include <prdist/server/file_queue.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;
using namespace std::chrono_literals;
using What = FileQueue::Answer::What;

namespace {

constexpr FileList three{.files = 3, .source = 7, .epochs = 1};
constexpr TimePoint start{};

std::uint64_t take(FileQueue& queue, std::uint32_t trainer, FileList const& list = three) {
  auto const answer = queue.next(trainer, list, start).value();
  EXPECT_EQ(answer.what, What::task);
  return answer.task;
}

}  // namespace

TEST(FileQueue, HandsEveryFileOutOnceAndIsOverWhenAllAreDone) {
  FileQueue queue;
  EXPECT_EQ(take(queue, 0), 0U);
  EXPECT_EQ(take(queue, 1), 1U);
  EXPECT_EQ(take(queue, 0), 2U);
  EXPECT_EQ(queue.next(1, three, start + 90s).value().what, What::later);
  EXPECT_EQ(queue.next(1, three, start + 90s).value().waits_for,
            "file 0 of epoch 0, which trainer 0 has had for 90 s, and 2 others");
  for (auto const& [trainer, task] : {std::pair(0U, 0U), {1U, 1U}, {0U, 2U}}) EXPECT_TRUE(queue.done(trainer, task));
  EXPECT_EQ(queue.next(1, three, start).value().what, What::over);
  EXPECT_EQ(queue.state(), (FileState{three, 3, {}}));
}

TEST(FileQueue, GivesWhatOneLeftToTheNextWhoAsks) {
  FileQueue queue;
  EXPECT_EQ(take(queue, 0), 0U);
  EXPECT_EQ(take(queue, 1), 1U);
  EXPECT_EQ(queue.give_back(0), 1U);
  EXPECT_EQ(queue.give_back(0), 0U);
  EXPECT_EQ(take(queue, 1), 0U) << "before the files that nobody has had";
  EXPECT_EQ(take(queue, 1), 2U);
  EXPECT_EQ(queue.give_back(1), 3U) << "one may have several";
  EXPECT_EQ(queue.state().open, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(take(queue, 5), 0U);
}

TEST(FileQueue, DoesNotWaitBetweenEpochs) {
  FileQueue queue;
  FileList const twice{.files = 2, .source = 7, .epochs = 2};
  for (std::uint64_t task = 0; task < 4; ++task) EXPECT_EQ(take(queue, 0, twice), task);
  EXPECT_EQ(queue.next(1, twice, start).value().what, What::later);
}

TEST(FileQueue, RefusesAnotherListAndForeignReports) {
  FileQueue queue;
  EXPECT_EQ(queue.next(0, {.files = 0}, start).error().message(),
            "trainer 0 brings 0 files for 1 epochs: there is nothing to hand out");
  EXPECT_EQ(take(queue, 0), 0U);
  EXPECT_EQ(queue.next(1, {.files = 4, .source = 7, .epochs = 1}, start).error().message(),
            "trainer 1 brings 4 files for 1 epochs, the job has 3 for 1: give every trainer the same files, under the "
            "same names, with the same seed");
  EXPECT_EQ(queue.next(1, {.files = 3, .source = 8, .epochs = 1}, start).error().message(),
            "trainer 1 brings 3 files for 1 epochs, the job has 3 for 1, under other names or in another order: give "
            "every trainer the same files, under the same names, with the same seed");
  auto const foreign = "has finished task 0 of the data, which it was not given: report each file once";
  EXPECT_EQ(queue.done(1, 0).error().message(), concat("trainer 1 ", foreign));
  EXPECT_TRUE(queue.done(0, 0, 70));
  EXPECT_EQ(queue.done(0, 0, 70).error().message(), concat("trainer 0 ", foreign));
  EXPECT_EQ(queue.state().rows, 70U) << "counted once";
}

TEST(FileQueue, GoesOnFromACheckpointWithWhatWasInWork) {
  FileQueue before;
  EXPECT_EQ(take(before, 0), 0U);
  EXPECT_EQ(take(before, 1), 1U);
  ASSERT_TRUE(before.done(0, 0));
  auto const state = before.state();
  EXPECT_EQ(state, (FileState{three, 2, {1}}));

  FileQueue after;
  ASSERT_TRUE(after.restore(state));
  EXPECT_EQ(after.state(), state);
  EXPECT_EQ(take(after, 4), 1U);
  EXPECT_EQ(take(after, 4), 2U);
  EXPECT_EQ(after.restore(state).error().message(),
            "the files of this job are being handed out already: restore them first");

  FileQueue longer;
  ASSERT_TRUE(longer.restore({three, 3, {}}));
  FileList const twice{.files = 3, .source = 7, .epochs = 2};
  EXPECT_EQ(take(longer, 0, twice), 3U) << "more epochs may follow";

  FileQueue other;
  ASSERT_TRUE(other.restore(state));
  EXPECT_EQ(other.next(0, {.files = 3, .source = 9, .epochs = 1}, start).error().message(),
            "trainer 0 brings 3 files for 1 epochs, the checkpoint was made with 3 for 1, under other names or in "
            "another order: give every trainer the same files, under the same names, with the same seed");
  FileQueue fewer;
  ASSERT_TRUE(fewer.restore({twice, 5, {}}));
  EXPECT_EQ(fewer.next(0, three, start).error().message(),
            "trainer 0 wants 1 epochs of the data, the checkpoint is in epoch 1 (from 0): ask for more epochs");
}

TEST(FileQueue, ASaveBeforeTheFirstFileBindsNobody) {
  FileQueue const before;
  FileQueue after;
  ASSERT_TRUE(after.restore(before.state()));
  EXPECT_EQ(take(after, 0), 0U);
}

// Trainers come, go and report in any order, and the job is resumed now and then: every task is done, and none twice.
TEST(FileQueue, LosesAndRepeatsNothingInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Random random(seed);
    FileList const list{
        .files = 1 + random.below(9), .source = seed, .epochs = static_cast<std::uint32_t>(1 + random.below(3))};
    auto queue = std::make_unique<FileQueue>();
    std::map<std::uint64_t, std::uint32_t> held;
    std::map<std::uint64_t, int> done;
    for (int turn = 0; turn < 100000; ++turn) {
      auto const trainer = static_cast<std::uint32_t>(random.below(4));
      auto const what = random.below(10);
      if (what < 5) {
        auto const answer = queue->next(trainer, list, start).value();
        if (answer.what == What::over) break;
        EXPECT_EQ(answer.what == What::later, held.size() + done.size() == list.tasks());
        if (answer.what == What::task) {
          EXPECT_TRUE(held.emplace(answer.task, trainer).second) << "two have it";
        }
      } else if (what < 8) {
        if (held.empty()) continue;
        auto const it = std::next(held.begin(), static_cast<std::ptrdiff_t>(random.below(held.size())));
        ASSERT_TRUE(queue->done(it->second, it->first));
        ++done[it->first];
        held.erase(it);
      } else if (what < 9) {
        EXPECT_EQ(queue->give_back(trainer), std::erase_if(held, [&](auto const& it) { return it.second == trainer; }));
      } else {
        auto const state = file_state_from_json(to_json(queue->state()), "the test");
        queue = std::make_unique<FileQueue>();
        ASSERT_TRUE(queue->restore(state));
        held.clear();
      }
    }
    EXPECT_TRUE(held.empty());
    EXPECT_EQ(done.size(), list.tasks());
    for (auto const& [task, times] : done) EXPECT_EQ(times, 1) << task;
  }
}
