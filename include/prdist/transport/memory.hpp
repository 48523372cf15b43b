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

namespace detail {

/// What connections and listeners hold of a hub. It outlives the hub's thread; what is sent then goes nowhere.
class MemoryCore : public std::enable_shared_from_this<MemoryCore> {
 public:
  void post(std::function<void()> delivery) {
    {
      std::lock_guard const lock(mutex_);
      if (ended_) return;
      queue_.push_back(std::move(delivery));
    }
    changed_.notify_one();
  }

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

  /// Delivers until end().
  void run() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ended_ || !queue_.empty(); });
        if (ended_) return;
      }
      step();
    }
  }

  void end() {
    std::deque<std::function<void()>> dropped;
    {
      std::lock_guard const lock(mutex_);
      ended_ = true;
      dropped.swap(queue_);
    }
    changed_.notify_all();
  }

  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, Acceptor acceptor);
  [[nodiscard]] Result<std::shared_ptr<Connection>> connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink);

 private:
  friend class MemoryEar;

  struct Door {
    Acceptor acceptor;
    std::vector<std::weak_ptr<Connection>> accepted;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::map<Endpoint, Door> doors_;
  std::uint16_t next_port_ = 1;
  bool ended_ = false;
};

/// One end of a connection.
class MemoryEnd final : public Connection, public std::enable_shared_from_this<MemoryEnd> {
 public:
  MemoryEnd(std::shared_ptr<MemoryCore> core, std::string peer) : core_(std::move(core)), peer_(std::move(peer)) {}
  ~MemoryEnd() override { tell_peer(); }

  void join(std::shared_ptr<MemoryEnd> const& other) { other_ = other; }
  void receive(std::shared_ptr<FrameSink> sink) { sink_ = std::move(sink); }
  /// Keeps the other end alive as long as this one.
  void hold(std::shared_ptr<MemoryEnd> other) { held_ = std::move(other); }

  void send(Outgoing frame) override {
    // Strong: what was sent arrives even when this end is gone by then. After close() it must not: the sender may
    // have freed what the pieces show.
    core_->post([other = other_.lock(), outbox = outbox_, frame = std::move(frame)]() mutable {
      std::lock_guard const lock(outbox->mutex);
      if (other && !outbox->closed) other->deliver(frame);
    });
  }

  void close() override {
    tell_peer();
    {
      std::lock_guard const lock(outbox_->mutex);
      outbox_->closed = true;
    }
    // The hub may be inside our sink: wait until it has left. Nothing enters afterwards.
    std::lock_guard const lock(mutex_);
    sink_.reset();
  }

  void finish() override {
    tell_peer();
    core_->post([self = weak_from_this()] {
      if (auto const end = self.lock()) end->end(Error(Errc::transport_closed, "this side closed the connection"));
    });
  }

  /// Nothing is queued on the way to a peer in the same process.
  void abort() override { finish(); }

  [[nodiscard]] std::string peer() const override { return peer_; }

 private:
  struct Outbox {
    std::mutex mutex;
    bool closed = false;
  };

  void tell_peer() {
    core_->post([other = other_.lock()] {
      if (other) other->end(Error(Errc::transport_closed, "the peer closed the connection"));
    });
  }

  void deliver(Outgoing& frame) {
    std::lock_guard const lock(mutex_);
    if (!sink_) return;
    frame.header.payload = 0;
    for (auto const& piece : frame.pieces) frame.header.payload += piece.size();
    auto const room = sink_->on_header(frame.header);
    if (!room) {
      tell_peer();
      return end(room.error());
    }
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
    auto const sink = std::exchange(sink_, nullptr);
    if (sink) sink->on_close(error);
  }

  std::shared_ptr<MemoryCore> core_;
  std::string peer_;
  std::weak_ptr<MemoryEnd> other_;
  std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  std::shared_ptr<MemoryEnd> held_;
  std::recursive_mutex mutex_;  // a sink that refuses a header is told of the end inside the same delivery
  std::shared_ptr<FrameSink> sink_;
};

class MemoryEar final : public Listener {
 public:
  MemoryEar(std::shared_ptr<MemoryCore> core, Endpoint endpoint)
      : core_(std::move(core)), endpoint_(std::move(endpoint)) {}
  ~MemoryEar() override {
    std::vector<std::weak_ptr<Connection>> accepted;
    {
      std::lock_guard const lock(core_->mutex_);
      accepted = std::move(core_->doors_.at(endpoint_).accepted);
      core_->doors_.erase(endpoint_);
    }
    for (auto const& weak : accepted) {
      if (auto const end = weak.lock()) end->close();
    }
  }
  [[nodiscard]] Endpoint endpoint() const override { return endpoint_; }

 private:
  std::shared_ptr<MemoryCore> core_;
  Endpoint endpoint_;
};

inline Result<std::unique_ptr<Listener>> MemoryCore::listen(ListenOptions const& options, Acceptor acceptor) {
  std::lock_guard const lock(mutex_);
  auto endpoint = options.endpoint;
  if (endpoint.port == 0) endpoint.port = next_port_++;
  if (!doors_.try_emplace(endpoint, Door{std::move(acceptor), {}}).second) {
    return Error(Errc::transport_in_use, to_string(endpoint), " is already listened to in this hub");
  }
  return std::unique_ptr<Listener>(std::make_unique<MemoryEar>(shared_from_this(), endpoint));
}

inline Result<std::shared_ptr<Connection>> MemoryCore::connect(Endpoint const& endpoint,
                                                               std::shared_ptr<FrameSink> sink) {
  auto const refused = Error(Errc::transport_refused, to_string(endpoint), ": nobody listens there in this hub");
  auto near = std::make_shared<MemoryEnd>(shared_from_this(), to_string(endpoint));
  auto const far = std::make_shared<MemoryEnd>(shared_from_this(), "a thread");
  Acceptor acceptor;
  {
    std::lock_guard const lock(mutex_);
    auto const it = doors_.find(endpoint);
    if (it == doors_.end()) return refused;
    acceptor = it->second.acceptor;
    it->second.accepted.push_back(far);
  }
  near->join(far);
  far->join(near);
  near->hold(far);
  near->receive(std::move(sink));
  far->receive(acceptor(far));
  return std::shared_ptr<Connection>(std::move(near));
}

}  // namespace detail

/// Delivers frames in the order they were sent, on a thread of its own or, when built with Stepped, one by one as
/// step() is called.
class MemoryHub {
 public:
  struct Stepped {};

  MemoryHub() : thread_([core = core_] { core->run(); }) {}
  explicit MemoryHub(Stepped) {}
  MemoryHub(MemoryHub const&) = delete;
  MemoryHub& operator=(MemoryHub const&) = delete;
  ~MemoryHub() {
    core_->end();
    if (thread_.joinable()) thread_.join();
  }

  /// Delivers the next frame; false when there is none.
  bool step() { return core_->step(); }

 private:
  friend class Memory;
  std::shared_ptr<detail::MemoryCore> core_ = std::make_shared<detail::MemoryCore>();
  std::thread thread_;
};

/// The transport over a hub.
class Memory {
 public:
  static constexpr std::string_view name = "memory";

  explicit Memory(std::shared_ptr<MemoryHub> hub) : hub_(std::move(hub)) {}

  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, Acceptor acceptor) {
    return hub_->core_->listen(options, std::move(acceptor));
  }

  [[nodiscard]] Result<std::shared_ptr<Connection>> connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                                            Duration) {
    return hub_->core_->connect(endpoint, std::move(sink));
  }

 private:
  std::shared_ptr<MemoryHub> hub_;
};

}  // namespace prdist
