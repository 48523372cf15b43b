// SPDX-License-Identifier: Apache-2.0
// The keys that a table has lost since its last kept cut, so that the next one can say so. Nothing is noted before
// there has been a cut: a job that takes none pays nothing.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include <prdist/core/types.hpp>

namespace prdist {

class RemovedKeys {
 public:
  /// The marker of a cut: what comes after it belongs to the next one.
  void begin_cut() {
    noting_ = true;
    open_ = true;
  }

  /// The next cut starts from the one that is open.
  void keep_cut() {
    before_ = std::move(after_);
    forget_open();
  }

  /// As if there had been no marker.
  void cancel_cut(bool kept_any) {
    for (auto const key : returned_) before_.erase(key);
    before_.merge(after_);
    forget_open();
    if (!kept_any) {
      before_.clear();
      noting_ = false;
    }
  }

  void erased(Key key) {
    if (noting_) (open_ ? after_ : before_).insert(key);
  }

  void inserted(Key key) {
    if (before_.empty() && after_.empty()) return;
    if (!open_) {
      before_.erase(key);
      return;
    }
    after_.erase(key);
    // The open cut still says that it is gone; only if that cut is abandoned has it never been.
    if (before_.contains(key)) returned_.push_back(key);
  }

  /// Gone before the marker of the open cut.
  [[nodiscard]] std::unordered_set<Key> const& before() const noexcept { return before_; }

  /// About what the keys take in memory.
  [[nodiscard]] std::size_t bytes() const noexcept { return (before_.size() + after_.size()) * 32; }

 private:
  void forget_open() {
    after_.clear();
    returned_.clear();
    open_ = false;
  }

  bool noting_ = false;
  bool open_ = false;
  std::unordered_set<Key> before_;
  std::unordered_set<Key> after_;
  std::vector<Key> returned_;
};

}  // namespace prdist
