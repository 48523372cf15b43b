// Virtual time: nothing happens until a test moves it.
#pragma once

#include <prdist/core/runtime.hpp>

#include <functional>
#include <map>
#include <utility>

namespace prdist::test {

class StillRuntime final : public Runtime {
 public:
  TimePoint now() const override { return now_; }
  void after(Duration delay, std::function<void()> call) override { calls_.emplace(now_ + delay, std::move(call)); }
  bool wait(Gate& gate, TimePoint deadline) override {
    if (!gate.is_open() && skips) advance(deadline - now_);
    return gate.is_open();
  }

  void advance(Duration by) {
    auto const end = now_ + by;
    while (!calls_.empty() && calls_.begin()->first <= end) {
      now_ = calls_.begin()->first;
      auto const call = std::move(calls_.begin()->second);
      calls_.erase(calls_.begin());
      call();
    }
    now_ = end;
  }

  bool skips = false;  ///< waiting moves the time to the deadline

 private:
  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> calls_;
};

}  // namespace prdist::test
