// SPDX-License-Identifier: Apache-2.0
// The wish for a checkpoint, as server 0 keeps it. A trainer states it; everybody reads it in the next answer of the
// server and comes to the meeting at the boundary of a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <prdist/wire/frame.hpp>

namespace prdist {

class CutCall {
 public:
  /// Wishes for a checkpoint from step `step` on; with `stop` training is to end with it. Returns the checkpoint's
  /// number, which is that of an earlier wish when that one is still waiting.
  std::uint32_t ask(std::uint64_t step, bool stop) {
    std::lock_guard const lock(mutex_);
    if (!wanted_) {
      step_ = step;
      stop_ = false;
      number_ = number_ + 1;
    }
    stop_ = stop_ || stop;
    wanted_ = true;
    return number_;
  }

  /// Everybody has met for checkpoint `number`, and with `stopped` training has ended with it: those who met know,
  /// for an end may be added to a wish when some have heard of it already.
  void met(std::uint32_t number, bool stopped) {
    std::lock_guard const lock(mutex_);
    if (number != number_ || !wanted_) return;
    wanted_ = false;
    if (stopped) stopped_ = true;
  }

  /// Whether a checkpoint is wanted and nobody has said yet that all have met.
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }

  /// This server, or a trainer that may have no more batches, is to end: every trainer is asked to wish for a last
  /// checkpoint.
  void end_soon() { ending_ = true; }
  [[nodiscard]] bool ending() const noexcept { return ending_; }

  /// Writes the wish into the header of an answer. Called for every answer: without a wish it costs one load.
  void tell(Header& header) const {
    header.remaining_ms = 0;
    header.flags &= ~(flag_stop | flag_stopped);
    if (ending_) header.flags |= flag_stop;
    if (stopped_) header.flags |= flag_stopped;
    if (!wanted_) return;
    std::lock_guard const lock(mutex_);
    if (!wanted_) return;
    header.remaining_ms = number_;
    header.sequence = step_;
    if (stop_) header.flags |= flag_stop;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> wanted_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> stopped_ = false;
  std::uint32_t number_ = 0;
  std::uint64_t step_ = 0;
  bool stop_ = false;
};

}  // namespace prdist
