// SPDX-License-Identifier: Apache-2.0
// Frames inside one process: a whole cluster as threads, for tests, examples and simulators. No sockets, no
// checksums; the same sinks, the same order, the same ends.
//
//   auto hub = std::make_shared<MemoryHub>();         // an object: two clusters in one process do not meet
//   Fleet<Transport<Memory>> fleet{roles, Memory{hub}};
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/wire/channel.hpp>

namespace prdist {

/// Delivers frames in the order they were sent, on a thread of its own or, when built with Stepped, one by one as
/// step() is called.
class MemoryHub : public std::enable_shared_from_this<MemoryHub> {
 public:
  struct Stepped {};

  MemoryHub() : thread_([this] { run(); }) {}
  explicit MemoryHub(Stepped) {}
  MemoryHub(MemoryHub const&) = delete;
  MemoryHub& operator=(MemoryHub const&) = delete;
  ~MemoryHub() {
    {
      std::lock_guard const lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// Delivers the next frame; false when there is none.
  bool step() {
    std::function<void()> next;
    {
      std::lock_guard const lock(mutex_);
      if (queue_.empty()) return false;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    next();
    return true;
  }

  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, Acceptor acceptor) {
    std::lock_guard const lock(mutex_);
    auto endpoint = options.endpoint;
    if (endpoint.port == 0) endpoint.port = next_port_++;
    auto const fresh = doors_.try_emplace(endpoint, Door{std::move(acceptor), {}}).second;
    if (!fresh) return Error(Errc::transport_in_use, to_string(endpoint), " is already listened to in this hub");
    return std::unique_ptr<Listener>(std::make_unique<Ear>(shared_from_this(), endpoint));
  }

  [[nodiscard]] Result<std::shared_ptr<Connection>> connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink) {
    Acceptor acceptor;
    {
      std::lock_guard const lock(mutex_);
      auto const it = doors_.find(endpoint);
      if (it == doors_.end()) {
        return Error(Errc::transport_refused, to_string(endpoint), ": nobody listens there in this hub");
      }
      acceptor = it->second.acceptor;
    }
    auto near = std::make_shared<End>(shared_from_this(), to_string(endpoint));
    auto const far = std::make_shared<End>(shared_from_this(), "a thread");
    near->peer_end_ = far;
    far->peer_end_ = near;
    near->sink_ = std::move(sink);
    far->sink_ = acceptor(far);
    // Each end lives as long as the other may send to it; close() breaks the ring.
    near->hold_ = far;
    {
      std::lock_guard const lock(mutex_);
      if (auto const it = doors_.find(endpoint); it != doors_.end()) it->second.accepted.push_back(far);
    }
    return std::shared_ptr<Connection>(std::move(near));
  }

 private:
  class End final : public Connection, public std::enable_shared_from_this<End> {
   public:
    End(std::shared_ptr<MemoryHub> hub, std::string peer) : hub_(std::move(hub)), peer_(std::move(peer)) {}
    ~End() override {
      if (auto const other = peer_end_.lock()) {
        hub_->post([other] { other->end(Error(Errc::transport_closed, "the peer closed the connection")); });
      }
    }

    void send(Outgoing frame) override {
      hub_->post([other = peer_end_, frame = std::move(frame)]() mutable {
        if (auto const end = other.lock()) end->deliver(frame);
      });
    }

    void close() override {
      finish();
      // The hub may be inside our sink: wait until it has left. Nothing enters afterwards.
      std::lock_guard const lock(mutex_);
      sink_.reset();
    }

    void finish() override {
      hub_->post([other = peer_end_] {
        if (auto const end = other.lock()) end->end(Error(Errc::transport_closed, "the peer closed the connection"));
      });
      hub_->post([self = weak_from_this()] {
        if (auto const end = self.lock()) end->end(Error(Errc::transport_closed, "this side closed the connection"));
      });
    }

    [[nodiscard]] std::string peer() const override { return peer_; }

   private:
    friend class MemoryHub;

    void deliver(Outgoing& frame) {
      std::lock_guard const lock(mutex_);
      if (!sink_) return;
      frame.header.payload = 0;
      for (auto const& piece : frame.pieces) frame.header.payload += piece.size();
      auto const room = sink_->on_header(frame.header);
      if (!room) return end_locked(room.error());
      copy(frame.pieces, *room);
      sink_->on_frame(frame.header);
    }

    static void copy(std::vector<ConstBytes> const& from, std::span<Bytes const> to) {
      std::size_t piece = 0, at = 0;
      for (auto source : from) {
        while (!source.empty()) {
          auto const rest = to[piece].subspan(at);
          auto const take = std::min(rest.size(), source.size());
          std::memcpy(rest.data(), source.data(), take);
          source = source.subspan(take);
          at += take;
          if (at == to[piece].size()) {
            ++piece;
            at = 0;
          }
        }
      }
    }

    void end(Error const& error) {
      std::lock_guard const lock(mutex_);
      end_locked(error);
    }

    void end_locked(Error const& error) {
      if (!sink_) return;
      auto const sink = std::exchange(sink_, nullptr);
      sink->on_close(error);
    }

    std::shared_ptr<MemoryHub> hub_;
    std::string peer_;
    std::weak_ptr<End> peer_end_;
    std::shared_ptr<End> hold_;
    std::recursive_mutex mutex_;
    std::shared_ptr<FrameSink> sink_;
  };

  struct Door {
    Acceptor acceptor;
    std::vector<std::weak_ptr<End>> accepted;
  };

  class Ear final : public Listener {
   public:
    Ear(std::shared_ptr<MemoryHub> hub, Endpoint endpoint) : hub_(std::move(hub)), endpoint_(std::move(endpoint)) {}
    ~Ear() override {
      std::vector<std::weak_ptr<End>> accepted;
      {
        std::lock_guard const lock(hub_->mutex_);
        accepted = std::move(hub_->doors_.at(endpoint_).accepted);
        hub_->doors_.erase(endpoint_);
      }
      for (auto const& weak : accepted) {
        if (auto const end = weak.lock()) end->close();
      }
    }
    [[nodiscard]] Endpoint endpoint() const override { return endpoint_; }

   private:
    std::shared_ptr<MemoryHub> hub_;
    Endpoint endpoint_;
  };

  void post(std::function<void()> delivery) {
    {
      std::lock_guard const lock(mutex_);
      if (ending_) return;
      queue_.push_back(std::move(delivery));
    }
    changed_.notify_one();
  }

  void run() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
      }
      step();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::map<Endpoint, Door> doors_;
  std::uint16_t next_port_ = 1;
  bool ending_ = false;
  std::thread thread_;
};

/// The transport over a hub.
class Memory {
 public:
  static constexpr std::string_view name = "memory";

  explicit Memory(std::shared_ptr<MemoryHub> hub) : hub_(std::move(hub)) {}

  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, Acceptor acceptor) {
    return hub_->listen(options, std::move(acceptor));
  }

  [[nodiscard]] Result<std::shared_ptr<Connection>> connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                                            Duration) {
    return hub_->connect(endpoint, std::move(sink));
  }

 private:
  std::shared_ptr<MemoryHub> hub_;
};

}  // namespace prdist
