// SPDX-License-Identifier: Apache-2.0
// A fixed number of threads that do the same thing together, again and again; the caller is the first of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace prdist {

class Team {
 public:
  explicit Team(std::size_t size) {
    for (std::size_t i = 1; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  Team(Team const&) = delete;
  Team& operator=(Team const&) = delete;
  ~Team() {
    {
      std::lock_guard const lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  [[nodiscard]] std::size_t size() const noexcept { return threads_.size() + 1; }

  /// Calls `work(i)` once on each thread and returns when all have; throws what the first one threw.
  void run(std::function<void(std::size_t)> const& work) {
    {
      std::lock_guard const lock(mutex_);
      work_ = &work;
      left_ = threads_.size();
      ++round_;
      failed_ = nullptr;
    }
    changed_.notify_all();
    guarded(work, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  }

 private:
  void serve(std::size_t index) {
    std::size_t seen = 0;
    for (;;) {
      std::function<void(std::size_t)> const* work = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || round_ != seen; });
        if (ending_) return;
        seen = round_;
        work = work_;
      }
      guarded(*work, index);
      std::lock_guard const lock(mutex_);
      if (--left_ == 0) done_.notify_one();
    }
  }

  void guarded(std::function<void(std::size_t)> const& work, std::size_t index) {
    try {
      work(index);
    } catch (...) {
      std::lock_guard const lock(mutex_);
      if (!failed_) failed_ = std::current_exception();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_, done_;
  std::function<void(std::size_t)> const* work_ = nullptr;
  std::size_t round_ = 0;
  std::size_t left_ = 0;
  std::exception_ptr failed_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace prdist
