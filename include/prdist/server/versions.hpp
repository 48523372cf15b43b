// SPDX-License-Identifier: Apache-2.0
// How stale the gradients of one table are on this server: a pull is answered with the table's version, the push made
// from it brings that version back, and the difference is how many other pushes came between.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include <prdist/core/histogram.hpp>

namespace prdist {

class Versions {
 public:
  /// What a pull is answered with. Versions are 32 bits that wrap; 0 stands for "not known" on the wire.
  [[nodiscard]] std::uint32_t now() const {
    std::lock_guard const lock(mutex_);
    return on_wire(version_);
  }

  /// Pushes since the pull that was answered with `pulled`; 0 when that is not known.
  [[nodiscard]] std::uint32_t since(std::uint32_t pulled) const {
    std::lock_guard const lock(mutex_);
    return difference(pulled);
  }

  /// A push is applied on its own; returns its staleness.
  std::uint32_t applied(std::uint32_t pulled) {
    std::lock_guard const lock(mutex_);
    auto const staleness = note(pulled, difference(pulled));
    ++version_;
    return staleness;
  }

  /// A trainer's part of a gathered step is applied, in whatever order the trainers' parts are told of: together they
  /// are one version.
  std::uint32_t applied_in_step(std::uint32_t trainer, std::uint32_t pulled) {
    std::lock_guard const lock(mutex_);
    auto& steps = steps_[trainer];
    auto const staleness = note(pulled, pulled == 0 ? 0 : on_wire(steps) - pulled);
    version_ = std::max(version_, ++steps);
    return staleness;
  }

  void dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }

  /// Of pushes that said from which version they were made.
  [[nodiscard]] Histogram const& staleness() const noexcept { return staleness_; }
  [[nodiscard]] std::uint64_t drops() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t pushes() const {
    std::lock_guard const lock(mutex_);
    return version_;
  }

 private:
  static std::uint32_t on_wire(std::uint64_t count) { return static_cast<std::uint32_t>(count) + 1; }

  [[nodiscard]] std::uint32_t difference(std::uint32_t pulled) const {
    return pulled == 0 ? 0 : on_wire(version_) - pulled;
  }

  std::uint32_t note(std::uint32_t pulled, std::uint32_t staleness) {
    if (pulled != 0) staleness_.add(staleness);
    return staleness;
  }

  mutable std::mutex mutex_;
  std::uint64_t version_ = 0;
  std::map<std::uint32_t, std::uint64_t> steps_;
  Histogram staleness_;
  std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace prdist
