// SPDX-License-Identifier: Apache-2.0
// The threads that move bytes. Each has an io_context of its own and every connection stays on one of them, so no
// handler of a connection ever runs beside another.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <prdist/transport/tcp.hpp>

namespace prdist::detail {

/// Something with work under way on a context that must be able to let go of it.
class Endable {
 public:
  virtual ~Endable() = default;
  /// On the context's thread: cancel everything, call nobody afterwards.
  virtual void end() = 0;
  /// end() from any other thread; has happened when it returns.
  virtual void close() = 0;
};

/// What connections hold of the pool. It outlives the threads, so that a late send() finds a context, not a crash.
class IoCore {
 public:
  using Context = boost::asio::io_context;

  explicit IoCore(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) contexts_.push_back(std::make_unique<Context>(1));
  }

  [[nodiscard]] Context& next() { return *contexts_[turn_.fetch_add(1) % contexts_.size()]; }

  /// Remembers who is to be ended with the pool; forget() by the number it returns.
  std::uint64_t remember(Context& context, std::weak_ptr<Endable> who) {
    std::lock_guard const lock(mutex_);
    alive_.emplace(++last_, std::pair(&context, std::move(who)));
    return last_;
  }

  void forget(std::uint64_t number) {
    std::lock_guard const lock(mutex_);
    alive_.erase(number);
  }

  /// Runs `call` on the context's thread and waits for it; at once when the threads have ended.
  template <class Call>
  void run_on(Context& context, Call&& call) {
    std::promise<void> done;
    {
      // Under the lock: a call that was posted is posted before the threads are told to end, so they run it.
      std::lock_guard const lock(mutex_);
      if (!ended_) {
        boost::asio::post(context, [&] {
          call();
          done.set_value();
        });
      } else {
        call();
        done.set_value();
      }
    }
    done.get_future().wait();
  }

 private:
  friend class IoPool;

  std::vector<std::unique_ptr<Context>> contexts_;
  std::atomic<std::size_t> turn_ = 0;
  std::mutex mutex_;
  std::map<std::uint64_t, std::pair<Context*, std::weak_ptr<Endable>>> alive_;
  std::uint64_t last_ = 0;
  bool ended_ = false;
};

class IoPool {
 public:
  explicit IoPool(SocketOptions const& options)
      : options_(options), core_(std::make_shared<IoCore>(options.threads == 0 ? 1 : options.threads)) {
    for (auto& context : core_->contexts_) {
      guards_.emplace_back(context->get_executor());
      threads_.emplace_back([&context = *context] { context.run(); });
    }
  }

  IoPool(IoPool const&) = delete;
  IoPool& operator=(IoPool const&) = delete;

  ~IoPool() {
    {
      std::lock_guard const lock(core_->mutex_);
      core_->ended_ = true;
      for (auto const& [number, who] : core_->alive_) {
        boost::asio::post(*who.first, [weak = who.second] {
          if (auto const self = weak.lock()) self->end();
        });
      }
    }
    // The contexts run dry: every cancelled operation has told its handler before the threads end.
    guards_.clear();
    for (auto& thread : threads_) thread.join();
  }

  [[nodiscard]] SocketOptions const& options() const noexcept { return options_; }
  [[nodiscard]] std::shared_ptr<IoCore> const& core() const noexcept { return core_; }

 private:
  SocketOptions options_;
  std::shared_ptr<IoCore> core_;
  std::vector<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guards_;
  std::vector<std::thread> threads_;
};

}  // namespace prdist::detail
