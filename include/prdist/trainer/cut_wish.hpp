// SPDX-License-Identifier: Apache-2.0
// What the servers' answers have said of a wanted checkpoint. Numbers tell a new wish from an echo of one that has
// been met already.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include <prdist/wire/frame.hpp>

namespace prdist {

class CutWish {
 public:
  struct Wanted {
    std::uint32_t number = 0;
    std::uint64_t step = 0;  ///< not before this step has begun
    bool stop = false;       ///< training ends with it
  };

  /// An answer that speaks of a checkpoint. Any thread.
  void hear(Header const& header) {
    std::lock_guard const lock(mutex_);
    if ((header.flags & flag_stopped) != 0) stopped_ = true;
    if (header.remaining_ms == 0) {
      if ((header.flags & flag_stop) != 0) ending_ = true;
    } else if (header.remaining_ms > met_ && (!wanted_ || header.remaining_ms >= wanted_->number)) {
      // Answers of one server overtake each other where it has several ports: what was heard stays heard.
      bool const known = wanted_ && wanted_->number == header.remaining_ms && wanted_->stop;
      wanted_ = Wanted{header.remaining_ms, header.sequence, known || (header.flags & flag_stop) != 0};
    }
    heard_ = true;
  }

  /// A checkpoint that is wanted and was not met yet. Without one it costs a load.
  [[nodiscard]] std::optional<Wanted> wanted() const {
    if (!heard_) return std::nullopt;
    std::lock_guard const lock(mutex_);
    return wanted_;
  }

  /// A server is about to end: whoever sees it first asks for a last checkpoint.
  [[nodiscard]] bool server_ends() const { return ending_; }

  /// The last checkpoint has been made, by those that trained. Who had no more batches was not there, and hears it.
  [[nodiscard]] bool job_stopped() const { return stopped_; }

  void stopped() { stopped_ = true; }

  void met(std::uint32_t number) {
    std::lock_guard const lock(mutex_);
    met_ = number;
    if (wanted_ && wanted_->number <= number) wanted_.reset();
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> heard_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> stopped_ = false;
  std::optional<Wanted> wanted_;
  std::uint32_t met_ = 0;
};

}  // namespace prdist
