// SPDX-License-Identifier: Apache-2.0
// Which rows of a table others have changed since a trainer last asked. A key stands here once however often it
// changes, and no longer than until the slowest trainer has heard of it; beyond `most` keys the oldest are forgotten,
// and who had not heard of them is told to fetch all it holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

class ChangedRows {
 public:
  static constexpr std::size_t default_most = std::size_t{1} << 20;

  /// What a trainer is told; `now` is where it goes on next time.
  struct Answer {
    std::vector<Key> keys{};
    std::uint64_t now = 0;
    bool forgotten = false;  ///< some that it should have heard of are no longer known
  };

  explicit ChangedRows(std::set<std::uint32_t> const& trainers, std::size_t most = default_most) : most_(most) {
    for (auto const trainer : trainers) heard_[trainer] = 0;
  }

  /// Counts one more change; note() is then of the rows in it. Changes without rows count too: the threads of a server
  /// each have some rows of a push, and all count alike.
  void begin_change() noexcept { ++change_; }

  /// `trainer` has changed this row.
  void note(std::uint32_t trainer, Key key) {
    auto const [it, added] = index_.try_emplace(key);
    if (added) {
      it->second = order_.insert(order_.end(), Entry{key, change_, 0, trainer});
      if (index_.size() > most_) forget_oldest();
      return;
    }
    auto& entry = *it->second;
    // Two moments suffice to know for everybody whether somebody else has changed the row since then.
    if (entry.by != trainer) entry.before = entry.last;
    entry.last = change_;
    entry.by = trainer;
    order_.splice(order_.end(), order_, it->second);
  }

  /// The rows that others than `trainer` have changed after `since`, newest first.
  [[nodiscard]] Answer changed(std::uint32_t trainer, std::uint64_t since) const {
    Answer answer{{}, change_, since < forgotten_};
    for (auto it = order_.rbegin(); it != order_.rend() && it->last > since; ++it) {
      if ((it->by == trainer ? it->before : it->last) > since) answer.keys.push_back(it->key);
    }
    return answer;
  }

  /// `trainer` knows all up to `change`.
  void heard(std::uint32_t trainer, std::uint64_t change) {
    if (auto const it = heard_.find(trainer); it != heard_.end()) it->second = std::max(it->second, change);
    trim();
  }

  /// It will not ask again.
  void leave(std::uint32_t trainer) {
    heard_.erase(trainer);
    trim();
  }

  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }

 private:
  struct Entry {
    Key key;
    std::uint64_t last;    ///< when it changed
    std::uint64_t before;  ///< when somebody else than `by` changed it; 0: never
    std::uint32_t by;
  };
  struct Hash {
    std::size_t operator()(Key key) const noexcept { return hash_key(key); }
  };

  void trim() {
    auto least = change_;
    for (auto const& [trainer, change] : heard_) least = std::min(least, change);
    while (!order_.empty() && order_.front().last <= least) drop_front();
  }

  void forget_oldest() {
    forgotten_ = order_.front().last;
    drop_front();
  }

  void drop_front() {
    index_.erase(order_.front().key);
    order_.pop_front();
  }

  std::size_t most_;
  std::uint64_t change_ = 0;
  std::uint64_t forgotten_ = 0;  ///< the newest change that was forgotten before all had heard of it
  std::list<Entry> order_;       ///< by `last`
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> index_;
  std::map<std::uint32_t, std::uint64_t> heard_;
};

}  // namespace prdist
