// SPDX-License-Identifier: Apache-2.0
// Named barriers among the trainers. One that has stopped is no longer waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>

namespace prdist {

class Barriers {
 public:
  /// Told once: null when everybody is there.
  using Done = std::function<void(Error const*)>;

  void arrive(std::uint64_t name, std::uint32_t trainer, std::set<std::uint32_t> const& members, Done done) {
    {
      std::lock_guard const lock(mutex_);
      waiting_[name][trainer] = std::move(done);
    }
    release(members);
  }

  /// Opens every barrier at which all of `members` wait.
  void release(std::set<std::uint32_t> const& members) {
    std::vector<Done> open;
    {
      std::lock_guard const lock(mutex_);
      for (auto it = waiting_.begin(); it != waiting_.end();) {
        bool all = true;
        for (auto const member : members) all = all && it->second.contains(member);
        if (!all) {
          ++it;
          continue;
        }
        for (auto& [trainer, done] : it->second) open.push_back(std::move(done));
        it = waiting_.erase(it);
      }
    }
    for (auto const& done : open) done(nullptr);
  }

  void fail(Error const& error) {
    std::map<std::uint64_t, std::map<std::uint32_t, Done>> failed;
    {
      std::lock_guard const lock(mutex_);
      std::swap(failed, waiting_);
    }
    for (auto const& [name, barrier] : failed) {
      for (auto const& [trainer, done] : barrier) done(&error);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::map<std::uint32_t, Done>> waiting_;
};

}  // namespace prdist
