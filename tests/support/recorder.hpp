// A sink that keeps what it is told, and lets a test wait for it.
#pragma once

#include <prdist/wire/channel.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace prdist::test {

class Recorder : public FrameSink {
 public:
  struct Frame {
    Header header;
    std::vector<std::byte> payload;
  };

  /// Called for each frame, on the transport's thread.
  std::function<void(Frame const&)> on_each;
  /// Refuses headers it returns an error for.
  std::function<std::optional<Error>(Header const&)> refuse;
  /// Sizes of the pieces a payload is received in; the last one is as large as it must be.
  std::vector<std::size_t> cut;

  Result<std::span<Bytes const>> on_header(Header const& header) override {
    if (refuse) {
      if (auto const error = refuse(header)) return *error;
    }
    payload_.assign(static_cast<std::size_t>(header.payload), std::byte{0xcc});
    pieces_.clear();
    std::size_t at = 0;
    for (auto const size : cut) {
      if (at + size >= payload_.size()) break;
      pieces_.emplace_back(payload_.data() + at, size);
      at += size;
    }
    if (at < payload_.size()) pieces_.emplace_back(payload_.data() + at, payload_.size() - at);
    return std::span<Bytes const>(pieces_);
  }

  void on_frame(Header const& header) override {
    Frame frame{header, payload_};
    if (on_each) on_each(frame);
    std::lock_guard const lock(mutex_);
    frames_.push_back(std::move(frame));
    changed_.notify_all();
  }

  void on_close(Error const& error) override {
    std::lock_guard const lock(mutex_);
    closed_ = error;
    changed_.notify_all();
  }

  [[nodiscard]] bool wait_for_frames(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return frames_.size() >= count; });
  }

  [[nodiscard]] bool wait_for_close() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return closed_.has_value(); });
  }

  [[nodiscard]] std::vector<Frame> frames() const {
    std::lock_guard const lock(mutex_);
    return frames_;
  }

  [[nodiscard]] std::optional<Error> closed() const {
    std::lock_guard const lock(mutex_);
    return closed_;
  }

 private:
  std::vector<std::byte> payload_;
  std::vector<Bytes> pieces_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Frame> frames_;
  std::optional<Error> closed_;
};

/// `size` bytes that depend on `seed`.
inline std::vector<std::byte> noise(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761U + 1;
  for (auto& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

}  // namespace prdist::test
