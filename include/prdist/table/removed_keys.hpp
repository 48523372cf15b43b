// SPDX-License-Identifier: Apache-2.0
// The keys that a table has lost since its last kept cut, so that the next one can say so. Nothing is noted before
// there has been a cut that may be kept: a job that takes none pays nothing. Nor are more noted than there is memory
// for: a table that evicts in a steady stream would be killed for its notes. Then they are forgotten, and the next cut
// has to be one of all rows.
#pragma once

#include <cstddef>
#include <limits>
#include <unordered_set>
#include <vector>

#include <prdist/core/types.hpp>

namespace prdist {

class RemovedKeys {
 public:
  /// About what a noted key takes in memory.
  static constexpr std::size_t bytes_per_key = 48;

  /// Notes take one part in so many of the memory ceiling of the tables, besides it.
  static constexpr std::size_t share_of_ceiling = 16;
  static constexpr std::size_t no_ceiling = std::numeric_limits<std::size_t>::max();

  explicit RemovedKeys(std::size_t ceiling = no_ceiling) : most_(ceiling / share_of_ceiling / bytes_per_key) {}

  /// The marker of a cut: what comes after it belongs to the next one, if this one may be kept.
  void begin_cut(bool may_be_kept = true) {
    noting_ = noting_ || may_be_kept;
    open_ = true;
  }

  /// The next cut starts from the one that is open, which held all rows or did not.
  void keep_cut(bool all_rows = true) {
    before_ = std::move(after_);
    if (all_rows && !forgot_open_) forgot_ = false;
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
    if (!noting_) return;
    if (before_.size() + after_.size() < most_) {
      (open_ ? after_ : before_).insert(key);
      return;
    }
    forgot_ = true;
    forgot_open_ = open_;
    after_ = {};
    returned_ = {};
    if (open_) return;  // its cut is on its way through the ones before
    before_ = {};       // and not clear(), which would keep most of the memory
    noting_ = false;
  }

  /// Keys have gone that are not noted: a cut of what has changed would not say so.
  [[nodiscard]] bool forgot() const noexcept { return forgot_; }

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

  [[nodiscard]] std::size_t bytes() const noexcept { return (before_.size() + after_.size()) * bytes_per_key; }

 private:
  void forget_open() {
    after_.clear();
    returned_.clear();
    open_ = false;
    forgot_open_ = false;
  }

  std::size_t most_;  ///< keys
  bool noting_ = false;
  bool open_ = false;
  bool forgot_ = false;
  bool forgot_open_ = false;  ///< since the marker of the open cut
  std::unordered_set<Key> before_;
  std::unordered_set<Key> after_;
  std::vector<Key> returned_;
};

}  // namespace prdist
