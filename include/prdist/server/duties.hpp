// SPDX-License-Identifier: Apache-2.0
// What one trainer does for all, whoever that is: load a checkpoint, measure the result. The first to ask has it; when
// it is gone before it was done, the next to ask has it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/error.hpp>

namespace prdist {

class Duties {
 public:
  struct Answer {
    enum class What { yours, taken, done };
    What what = What::yours;
    std::uint32_t holder = 0;  ///< of `taken`
    std::string text{};        ///< of `done`: what came of it
  };

  [[nodiscard]] Answer ask(std::string const& name, std::uint32_t trainer) {
    std::lock_guard const lock(mutex_);
    auto const& duty = duties_.try_emplace(name, Duty{trainer, false, {}}).first->second;
    if (duty.done) return {Answer::What::done, duty.holder, duty.text};
    return {duty.holder == trainer ? Answer::What::yours : Answer::What::taken, duty.holder, {}};
  }

  [[nodiscard]] Result<void> finish(std::string const& name, std::uint32_t trainer, std::string text) {
    std::lock_guard const lock(mutex_);
    auto const it = duties_.find(name);
    if (it == duties_.end() || it->second.done || it->second.holder != trainer) {
      return Error(Errc::job_state, "trainer ", trainer, " has done '", name, "', which is not its own: ask first");
    }
    it->second.done = true;
    it->second.text = std::move(text);
    return {};
  }

  /// Somebody else may have it. Nothing happens when it is another's, or done.
  void give_up(std::string const& name, std::uint32_t trainer) {
    std::lock_guard const lock(mutex_);
    auto const it = duties_.find(name);
    if (it != duties_.end() && !it->second.done && it->second.holder == trainer) duties_.erase(it);
  }

  /// The trainer is gone.
  void release(std::uint32_t trainer) {
    std::lock_guard const lock(mutex_);
    std::erase_if(duties_, [&](auto const& it) { return !it.second.done && it.second.holder == trainer; });
  }

 private:
  struct Duty {
    std::uint32_t holder;
    bool done;
    std::string text;
  };

  std::mutex mutex_;
  std::map<std::string, Duty> duties_;
};

}  // namespace prdist
