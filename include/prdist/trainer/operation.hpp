// SPDX-License-Identifier: Apache-2.0
// One pull or push on its way: the frames it was cut into, and who still owes an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

class Client;

namespace detail {

/// Any thread may complete frames; the one who started the operation waits.
class Operation {
 public:
  Operation(std::string what, TimePoint deadline) : what_(std::move(what)), deadline_(deadline) {}

  /// One more frame over link `link`. All are added before the first is sent: the operation also counts itself until
  /// seal(), so that a fast answer does not end it.
  void add(std::uint32_t link) {
    std::lock_guard const lock(mutex_);
    ++owed_[link];
    ++left_;
  }

  void seal() { drop(nullptr, std::nullopt); }

  void complete(std::uint32_t link, Error const* error) { drop(error, link); }

  /// Links over which answers are still to come.
  [[nodiscard]] std::vector<std::uint32_t> owing() const {
    std::lock_guard const lock(mutex_);
    std::vector<std::uint32_t> links;
    for (auto const& [link, frames] : owed_) {
      if (frames > 0) links.push_back(link);
    }
    return links;
  }

  /// Every answer is there or will never come.
  [[nodiscard]] bool settled() const {
    std::lock_guard const lock(mutex_);
    return left_ == 0;
  }

  [[nodiscard]] std::optional<Error> error() const {
    std::lock_guard const lock(mutex_);
    return error_;
  }

  [[nodiscard]] std::string const& what() const noexcept { return what_; }
  [[nodiscard]] TimePoint deadline() const noexcept { return deadline_; }
  [[nodiscard]] Gate& gate() noexcept { return gate_; }

  // What the frames point into when keys had to be sorted by server.
  std::vector<std::vector<Key>> keys;
  std::vector<std::vector<std::uint32_t>> positions;
  std::vector<std::vector<float>> values;
  std::vector<std::vector<float>> show_click;

  /// Sorts `all`, `width` floats per key, by server into `sorted`, as the keys were.
  void deal(std::span<float const> all, std::size_t width, std::vector<std::vector<float>>& sorted) const {
    sorted.resize(positions.size());
    for (std::size_t s = 0; s < positions.size(); ++s) {
      sorted[s].resize(positions[s].size() * width);
      auto* to = sorted[s].data();
      for (auto const position : positions[s]) {
        std::memcpy(to, all.data() + position * width, width * sizeof(float));
        to += width;
      }
    }
  }

 private:
  void drop(Error const* error, std::optional<std::uint32_t> link) {
    bool open = false;
    {
      std::lock_guard const lock(mutex_);
      if (error != nullptr && !error_) error_ = *error;
      if (link) --owed_[*link];
      // A server that is gone ends the operation at once: what the others answer no longer matters.
      open = --left_ == 0 || (error != nullptr && error->code() == Errc::transport_closed);
    }
    if (open) gate_.open();
  }

  std::string const what_;
  TimePoint const deadline_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::size_t> owed_;
  std::size_t left_ = 1;
  std::optional<Error> error_;
  Gate gate_;
};

}  // namespace detail

/// An operation under way. The memory it was given (keys, rows, gradients) must stay until wait() has returned or
/// the handle is gone: its destructor waits too, so an exception in between does no harm.
class [[nodiscard]] Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept
      : client_(std::exchange(other.client_, nullptr)), operation_(std::move(other.operation_)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      finish();
      client_ = std::exchange(other.client_, nullptr);
      operation_ = std::move(other.operation_);
    }
    return *this;
  }
  ~Handle() { finish(); }

  /// Blocks until every server has answered. @throws Error what a server said, or job.deadline, or
  /// transport.closed when one is gone. Waiting twice is allowed.
  void wait();

  /// True when wait() would not block.
  [[nodiscard]] bool ready() const { return !operation_ || operation_->gate().is_open(); }

 private:
  friend class Client;
  Handle(Client& client, std::shared_ptr<detail::Operation> operation)
      : client_(&client), operation_(std::move(operation)) {}

  void finish() noexcept;

  Client* client_ = nullptr;
  std::shared_ptr<detail::Operation> operation_;
};

}  // namespace prdist
