// SPDX-License-Identifier: Apache-2.0
// A node's presence in a job: it joins, keeps its lease, tells how far it is and hears how far the others are. One
// round at a time and without a clock of its own, so that nodes, stores and time are moved by hand in tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/job_state_json.hpp>
#include <prdist/launch/rendezvous/store.hpp>
#include <prdist/launch/rendezvous/transitions.hpp>

namespace prdist {

struct SessionOptions {
  std::string job_id = "default";
  JobTerms terms{2, 2};
  std::chrono::seconds lease{10};  ///< of silence, and the others give this node up
  /// An elastic job starts when nobody has come for so long, and ends when too few trainers were there for so long.
  std::chrono::milliseconds elastic_timeout{30'000};
};

/// What a round has found.
struct SessionView {
  JobState state;
  AliveNodes alive;
  bool member = false;     ///< this node is in that state
  bool fenced = false;     ///< it was, and the others have given it up or begun another run
  bool forgotten = false;  ///< the store has lost the state that this node was in
};

class NodeSession {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  NodeSession(Store& store, SessionOptions options, NodeInfo me)
      : store_(store),
        options_(std::move(options)),
        me_(std::move(me)),
        root_(concat("/prdist/", options_.job_id, '/')) {}

  /// Where its keys are: state, and alive/NODE/LEASE for each node.
  [[nodiscard]] std::string const& root() const noexcept { return root_; }

  /// Endpoints for a job that forms again, under the same name; what was told before is over.
  void offer(NodeInfo me) {
    me_ = std::move(me);
    joining_ = true;
    phase_ = NodePhase::joined;
    count_ = {};
    failure_.reset();
    told_ = true;
  }

  /// To be told to all in the next round; `why` is for one that leaves.
  void tell(NodePhase phase, std::string why = {}) {
    phase_ = phase;
    why_ = std::move(why);
    told_ = false;
  }
  /// Likewise; `what` is a sentence on the last trainer that fell.
  void tell(TrainerCount const& count, std::string what) {
    count_ = count;
    fall_ = std::move(what);
    told_ = false;
  }
  void tell(JobFailure failure) {
    failure_ = std::move(failure);
    told_ = false;
  }
  /// Whether all that was to be told has been written.
  [[nodiscard]] bool told() const noexcept { return told_; }

  /// One round: keeps the lease when a quarter of it is over, looks, and makes the change that is this node's to make.
  /// transport.* may pass by itself; every other error is final.
  [[nodiscard]] Result<SessionView> round(TimePoint now) {
    if (auto const present = stay(now); !present) return present.error();
    // Whoever loses the race for the state looks again; so many losses in a row are for the next round.
    for (int tries = 0; tries < 16; ++tries) {
      auto view = look();
      if (!view) return view.error();
      auto const next = wish(*view, is_quiet(view->state, now), is_short(view->state, now));
      if (!next) return next.error();
      auto const text = *next ? to_text(**next) : text_;
      if (text == text_) {
        told_ = true;
        return view;
      }
      if (auto const written = store_.put_if(root_ + "state", text, version_, 0); !written) return written.error();
    }
    return look();
  }

  /// Leaves in good order: what was told is written, and before the start this node's place is free again. Nothing
  /// is left but the state. For the end; errors do not matter any more, leases end by themselves.
  void leave(TimePoint now) {
    leaving_ = true;
    if (run_ != 0) (void)round(now);
    if (lease_ != 0) (void)store_.revoke(lease_);
    lease_ = 0;
  }

 private:
  [[nodiscard]] Result<void> stay(TimePoint now) {
    if (lease_ != 0 && now - kept_ >= options_.lease / 4) {
      auto const kept = store_.keep_alive(lease_);
      if (!kept) return kept.error();
      if (!*kept) lease_ = 0;
      kept_ = now;
    }
    if (lease_ == 0) {
      auto const lease = store_.grant(options_.lease);
      if (!lease) return lease.error();
      lease_ = *lease;
      kept_ = now;
      shown_ = false;
    }
    if (shown_) return {};
    // The lease is part of the key: one that is not quite over cannot take the new key with it, and a key that is
    // there already was written by a call whose answer got lost.
    auto const written = store_.put_if(concat(root_, "alive/", me_.name, '/', lease_), me_.host, 0, lease_);
    if (!written && written.error().code() == Errc::job_stale) {
      lease_ = 0;  // the next round takes another one
      return Error(Errc::transport_failed, written.error().message());
    }
    if (!written) return written.error();
    shown_ = true;
    return {};
  }

  [[nodiscard]] Result<SessionView> look() {
    auto const entries = store_.list(root_);
    if (!entries) return entries.error();
    SessionView view;
    auto const seen = std::exchange(version_, 0);
    text_.clear();
    for (auto const& entry : *entries) {
      auto const name = std::string_view(entry.key).substr(root_.size());
      if (name.starts_with("alive/")) view.alive.emplace(name.substr(6, name.rfind('/') - 6));
      if (name != "state") continue;
      auto state = parse_job_state(entry.value);
      if (!state) return state.error();
      view.state = std::move(*state);
      version_ = entry.version;
      text_ = entry.value;
    }
    // Nobody deletes the state, and versions only grow. What is written there since is another job's.
    forgotten_ = forgotten_ || (run_ != 0 && version_ < seen);
    view.forgotten = forgotten_;
    if (forgotten_) return view;
    auto const* const self = find_node(view.state, me_.name);
    view.member = self != nullptr && (run_ == 0 || run_ == view.state.run);
    if (view.member) run_ = view.state.run;
    // Left out while the job is forming: it joins again, unless members of it run.
    if (joining_ && !view.member && run_ == view.state.run && view.state.phase == JobPhase::forming) run_ = 0;
    view.fenced = run_ != 0 && (!view.member || self->phase == NodePhase::lost);
    if (view.member && view.state.phase == JobPhase::running) {
      joining_ = false;
      epoch_ = view.state.epoch;
    }
    return view;
  }

  /// Whether nobody has come or gone for as long as an elastic job waits for more.
  [[nodiscard]] bool is_quiet(JobState const& state, TimePoint now) {
    std::string present;
    for (auto const& node : state.nodes) present += concat(node.name, ' ', node.offered, ' ');
    if (std::exchange(present_, present) != present) changed_ = now;
    return now - changed_ >= options_.elastic_timeout;
  }

  /// Whether there have been too few trainers for as long as an elastic job waits for them.
  [[nodiscard]] bool is_short(JobState const& state, TimePoint now) {
    if (!shortage_of(state))
      short_since_.reset();
    else if (!short_since_)
      short_since_ = now;
    return short_since_ && now - *short_since_ >= options_.elastic_timeout;
  }

  /// The state as this node would have it; nothing when it is not this node's to change.
  [[nodiscard]] Result<std::optional<JobState>> wish(SessionView const& view, bool quiet, bool short_too_long) const {
    if (view.fenced || view.forgotten) return std::optional<JobState>();
    if (leaving_ && view.state.phase == JobPhase::forming) return std::optional(without(view.state, me_.name));
    if (!view.member) {
      if (leaving_ || !joining_) return std::optional<JobState>();
      return joined(view.state, view.alive, me_, options_.terms, options_.job_id);
    }
    auto state = view.state;
    if (state.phase == JobPhase::forming) {
      std::erase_if(state.nodes, [&](auto const& node) { return !view.alive.contains(node.name); });
      if (joining_) renew(state);
      if (!complete(state, quiet)) return std::optional(std::move(state));
      auto running = formed(std::move(state));
      if (!running) return running.error();
      return std::optional(std::move(*running));
    }
    state = without_the_dead(std::move(state), view.alive);
    // A job that has formed again since begins anew, for better or worse.
    bool const over = state.terms.reforms && state.epoch != epoch_;
    if (!over) state = with_trainers(std::move(state), me_.name, count_, fall_);
    if (failure_ && !over) state = with_failure(std::move(state), *failure_);
    if (phase_ != NodePhase::joined && !over) state = with_phase(std::move(state), me_.name, phase_, why_);
    if (short_too_long) state = without_enough(std::move(state), seconds_of(options_.elastic_timeout));
    return std::optional(std::move(state));
  }

  [[nodiscard]] static std::string seconds_of(std::chrono::milliseconds time) {
    return concat(std::chrono::duration<double>(time).count(), " s");
  }

  /// Endpoints for this epoch in place of those of the last.
  void renew(JobState& state) const {
    auto const self = std::ranges::find(state.nodes, me_.name, &NodeInfo::name);
    if (self == state.nodes.end() || self->offered == state.epoch) return;
    self->servers = me_.servers;
    self->trainers = me_.trainers;
    self->gloo = me_.gloo;
    self->offered = state.epoch;
  }

  Store& store_;
  SessionOptions options_;
  NodeInfo me_;
  std::string root_;
  Lease lease_ = 0;
  TimePoint kept_{};
  bool shown_ = false;         // the key that hangs on it is there
  std::uint64_t run_ = 0;      // that this node is part of
  std::uint64_t epoch_ = 0;    // in which it ran last
  std::uint64_t version_ = 0;  // of the state last seen
  std::string text_;           // that state
  std::string present_;        // who was there when it was looked at last
  TimePoint changed_{};
  std::optional<TimePoint> short_since_;
  NodePhase phase_ = NodePhase::joined;
  std::string why_;
  TrainerCount count_;
  std::string fall_;
  std::optional<JobFailure> failure_;
  bool joining_ = true;
  bool told_ = true;
  bool leaving_ = false;
  bool forgotten_ = false;
};

}  // namespace prdist
