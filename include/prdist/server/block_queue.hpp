// SPDX-License-Identifier: Apache-2.0
// Blocks of a cut on their way from the threads that own the shards to the one that writes the file: a slow disk
// slows the cut down, and pulls only when it is so slow that memory would run out.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/row_block.hpp>

namespace prdist {

/// Many fill it, one empties it.
class BlockQueue {
 public:
  /// From `enough` bytes on, slices wait; at `most`, whoever brings a block does.
  explicit BlockQueue(std::size_t enough = std::size_t{16} << 20, std::size_t most = std::size_t{256} << 20)
      : enough_(enough), most_(most) {}

  /// @throws Error what the one who empties it failed with
  void put(RowBlock&& block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failed_ || bytes_ < most_; });
    if (failed_) throw *failed_;
    bytes_ += size_of(block);
    blocks_.push_back(std::move(block));
    changed_.notify_all();
  }

  [[nodiscard]] bool ready() const {
    std::lock_guard const lock(mutex_);
    return failed_ || bytes_ < enough_;  // when it failed, the next slice is to find out
  }

  /// The next block; nothing when all have come. @throws Error what the cut ended with
  [[nodiscard]] std::optional<RowBlock> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failed_ || ended_ || !blocks_.empty(); });
    if (failed_) throw *failed_;
    if (blocks_.empty()) return std::nullopt;
    auto block = std::move(blocks_.front());
    blocks_.pop_front();
    bytes_ -= size_of(block);
    changed_.notify_all();
    return block;
  }

  /// An empty block, with the memory of one that was given back if there is such.
  [[nodiscard]] RowBlock spare() {
    std::lock_guard const lock(mutex_);
    if (spare_.empty()) return {};
    auto block = std::move(spare_.back());
    spare_.pop_back();
    return block;
  }

  /// A block that is through. Of those that nobody has asked for, so many are kept as may be under way.
  void give_back(RowBlock&& block) {
    block.keys.clear();
    block.rows.clear();
    std::lock_guard const lock(mutex_);
    if (spare_.size() < most_spare) spare_.push_back(std::move(block));
  }

  /// Calls `use` with every block until all have come. Whatever goes wrong on the way, those who fill the queue hear of
  /// it: they would wait for room for ever. @throws as take() and `use`
  template <class Use>
  void drain(Use&& use) {
    try {
      while (auto block = take()) {
        use(std::as_const(*block));
        give_back(std::move(*block));
      }
    } catch (Error const& error) {
      fail(error);
      throw;
    } catch (std::exception const& error) {
      fail(Error(Errc::internal, error.what()));
      throw;
    }
  }

  /// No block follows.
  void end() {
    std::lock_guard const lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  /// Everybody who uses it from now on hears why it is over.
  void fail(Error const& error) {
    std::lock_guard const lock(mutex_);
    if (!failed_) failed_ = error;
    blocks_.clear();
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t most_spare = 128;

  static std::size_t size_of(RowBlock const& block) { return block.keys.size() * sizeof(Key) + block.rows.size(); }

  std::size_t const enough_, most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RowBlock> blocks_;
  std::vector<RowBlock> spare_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
  std::optional<Error> failed_;
};

/// One thread's end of a queue.
class QueueSink final : public CutSink {
 public:
  explicit QueueSink(std::shared_ptr<BlockQueue> queue) : queue_(std::move(queue)) {}
  void take(RowBlock&& block) override { queue_->put(std::move(block)); }
  [[nodiscard]] RowBlock spare() override { return queue_->spare(); }
  [[nodiscard]] bool ready() override { return queue_->ready(); }

 private:
  std::shared_ptr<BlockQueue> queue_;
};

}  // namespace prdist
