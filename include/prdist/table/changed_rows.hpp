// SPDX-License-Identifier: Apache-2.0
// Which rows of a table others have changed since a trainer last asked. A key stands here once however often it
// changes, and no longer than until the slowest trainer has heard of it; beyond `most` keys the oldest are forgotten,
// and who had not heard of them is told to fetch all it holds.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
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
    auto const [it, added] = index_.try_emplace(key, 0U);
    if (added) {
      it->second = take_place();
      entries_[it->second] = {key, change_, 0, trainer, none, none};
      append(it->second);
      if (index_.size() > most_) forget_oldest();
      return;
    }
    auto& entry = entries_[it->second];
    // Two moments suffice to know for everybody whether somebody else has changed the row since then.
    if (entry.by != trainer) entry.before = entry.last;
    entry.last = change_;
    entry.by = trainer;
    unlink(it->second);
    append(it->second);
  }

  /// The rows that others than `trainer` have changed after `since`, newest first.
  [[nodiscard]] Answer changed(std::uint32_t trainer, std::uint64_t since) const {
    Answer answer{{}, change_, since < forgotten_};
    for (auto at = newest_; at != none && entries_[at].last > since; at = entries_[at].older) {
      auto const& entry = entries_[at];
      if ((entry.by == trainer ? entry.before : entry.last) > since) answer.keys.push_back(entry.key);
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
  static constexpr std::uint32_t none = 0xffffffff;

  /// In a list by `last`, of places in one vector: a change moves no memory and takes none.
  struct Entry {
    Key key;
    std::uint64_t last;    ///< when it changed
    std::uint64_t before;  ///< when somebody else than `by` changed it; 0: never
    std::uint32_t by;
    std::uint32_t older, newer;
  };
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(Key key) const noexcept { return hash_key(key); }
  };

  [[nodiscard]] std::uint32_t take_place() {
    if (free_.empty()) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    auto const place = free_.back();
    free_.pop_back();
    return place;
  }

  void append(std::uint32_t place) {
    entries_[place].older = newest_;
    entries_[place].newer = none;
    (newest_ == none ? oldest_ : entries_[newest_].newer) = place;
    newest_ = place;
  }

  void unlink(std::uint32_t place) {
    auto const [older, newer] = std::pair(entries_[place].older, entries_[place].newer);
    (older == none ? oldest_ : entries_[older].newer) = newer;
    (newer == none ? newest_ : entries_[newer].older) = older;
  }

  void trim() {
    auto least = change_;
    for (auto const& [trainer, change] : heard_) least = std::min(least, change);
    while (oldest_ != none && entries_[oldest_].last <= least) drop_oldest();
  }

  void forget_oldest() {
    forgotten_ = entries_[oldest_].last;
    drop_oldest();
  }

  void drop_oldest() {
    auto const place = oldest_;
    index_.erase(entries_[place].key);
    unlink(place);
    free_.push_back(place);
  }

  std::size_t most_;
  std::uint64_t change_ = 0;
  std::uint64_t forgotten_ = 0;  ///< the newest change that was forgotten before all had heard of it
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::uint32_t oldest_ = none, newest_ = none;
  boost::unordered_flat_map<Key, std::uint32_t, Hash> index_;
  std::map<std::uint32_t, std::uint64_t> heard_;
};

}  // namespace prdist
