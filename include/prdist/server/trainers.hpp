// SPDX-License-Identifier: Apache-2.0
// Who of the job's trainers has come, has stopped, was lost. In an elastic job only those that are there count; an id
// that was left or lost may be taken again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <prdist/core/elastic.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

class Trainers {
 public:
  /// `count` are expected from the beginning.
  explicit Trainers(std::uint32_t count, std::optional<Elastic> elastic = std::nullopt)
      : elastic_(elastic), state_(elastic ? elastic->max : count) {
    for (std::uint32_t i = count; i < state_.size(); ++i) state_[i] = State::left;
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(state_.size()); }

  /// A trainer says hello; refused when its id is taken or out of range.
  [[nodiscard]] Result<void> join(std::uint32_t trainer, std::string const& peer) {
    std::lock_guard const lock(mutex_);
    if (trainer >= state_.size()) {
      return Error(Errc::config_contradiction, "trainer ", trainer, " at ", peer, ": this job has ", state_.size(),
                   " trainers, numbered from 0: compare PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM");
    }
    if (elastic_ && state_[trainer] == State::here) {
      return Error(
          Errc::job_peer_lost, "trainer ", trainer, " at ", peer,
          ": the last one of this id has not left: it is given up when it is silent for long; give each trainer "
          "its own PADDLE_TRAINER_ID");
    }
    if (state_[trainer] == State::here) {
      return Error(Errc::config_contradiction, "trainer ", trainer, " at ", peer,
                   ": a trainer with this id is already connected: give each its own PADDLE_TRAINER_ID");
    }
    if (!elastic_ && state_[trainer] != State::expected) {
      return Error(Errc::job_state, "trainer ", trainer, " at ", peer, ": it has already ",
                   state_[trainer] == State::left ? "stopped" : "been given up", ": start the job anew");
    }
    state_[trainer] = State::here;
    retired_.erase(trainer);
    links_.erase(trainer);
    begun_ = begun_ || (elastic_ && std::ranges::count(state_, State::here) >= std::ptrdiff_t{elastic_->min});
    return {};
  }

  /// A trainer that is here has one more connection; refused when it is not, or has that one already.
  [[nodiscard]] Result<void> join_link(std::uint32_t trainer, std::uint32_t link, std::string const& peer) {
    std::lock_guard const lock(mutex_);
    if (trainer >= state_.size() || state_[trainer] != State::here) {
      return Error(Errc::job_state, "trainer ", trainer, " at ", peer, ": a connection for port ", link,
                   " of a trainer that is not here: the one for port 0 comes first");
    }
    if (!links_[trainer].insert(link).second) {
      return Error(Errc::config_contradiction, "trainer ", trainer, " at ", peer, ": it is already connected to port ",
                   link, ": give each trainer its own id");
    }
    return {};
  }

  /// With `finished` it has seen the end of the work, else it goes before.
  void leave(std::uint32_t trainer, bool finished = true) {
    std::lock_guard const lock(mutex_);
    state_[trainer] = State::left;
    finished_ = finished_ || finished;
    unfinished_ = unfinished_ || !finished;
  }

  /// The trainer has no more batches; it stays a member. `text` is what it would bring to the meetings it misses.
  void retire(std::uint32_t trainer, std::string text) {
    std::lock_guard const lock(mutex_);
    retired_[trainer] = std::move(text);
  }

  [[nodiscard]] std::map<std::uint32_t, std::string> retired() const {
    std::lock_guard const lock(mutex_);
    return retired_;
  }

  /// True when the trainer was at work: then this is a loss, else its connection just ended after it had stopped.
  [[nodiscard]] bool lose(std::uint32_t trainer) {
    std::lock_guard const lock(mutex_);
    if (state_[trainer] != State::here) return false;
    state_[trainer] = State::lost;
    return true;
  }

  /// Everybody has stopped or is lost. An elastic job is over when one has finished and nobody is there.
  [[nodiscard]] bool over() const {
    if (elastic_) return finished() && with(State::here).empty();
    return with(State::expected).empty() && with(State::here).empty();
  }
  /// Whether an elastic job has had enough trainers, once.
  [[nodiscard]] bool begun() const {
    std::lock_guard const lock(mutex_);
    return begun_;
  }
  /// Whether one has left that had finished.
  [[nodiscard]] bool finished() const {
    std::lock_guard const lock(mutex_);
    return finished_;
  }
  /// Whether one has left before that.
  [[nodiscard]] bool unfinished() const {
    std::lock_guard const lock(mutex_);
    return unfinished_;
  }
  [[nodiscard]] std::vector<std::uint32_t> expected() const { return with(State::expected); }
  [[nodiscard]] std::vector<std::uint32_t> here() const { return with(State::here); }
  [[nodiscard]] std::vector<std::uint32_t> lost() const { return with(State::lost); }

  /// Those a barrier waits for.
  [[nodiscard]] std::set<std::uint32_t> members() const {
    std::lock_guard const lock(mutex_);
    std::set<std::uint32_t> members;
    for (std::uint32_t i = 0; i < state_.size(); ++i) {
      if (elastic_ ? state_[i] == State::here : state_[i] != State::left) members.insert(i);
    }
    return members;
  }

  /// Members that still have batches: those a step or a checkpoint waits for.
  [[nodiscard]] std::set<std::uint32_t> training() const {
    auto members = this->members();
    std::lock_guard const lock(mutex_);
    for (auto const& [trainer, text] : retired_) members.erase(trainer);
    return members;
  }

 private:
  enum class State { expected, here, left, lost };

  [[nodiscard]] std::vector<std::uint32_t> with(State state) const {
    std::lock_guard const lock(mutex_);
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < state_.size(); ++i) {
      if (state_[i] == state) found.push_back(i);
    }
    return found;
  }

  mutable std::mutex mutex_;
  std::optional<Elastic> elastic_;
  std::vector<State> state_;
  bool finished_ = false;
  bool unfinished_ = false;
  bool begun_ = false;
  std::map<std::uint32_t, std::string> retired_;
  std::map<std::uint32_t, std::set<std::uint32_t>> links_;  ///< beside the first
};

/// `0, 2, 5`
[[nodiscard]] inline std::string list_of(std::vector<std::uint32_t> const& ids) {
  std::string text;
  for (auto const id : ids) text += concat(text.empty() ? "" : ", ", id);
  return text;
}

}  // namespace prdist
