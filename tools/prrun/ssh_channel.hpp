// SPDX-License-Identifier: Apache-2.0
// ssh clients and their streams, all in one thread: nothing blocks, and every child that ends is known.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/signal_echo.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/ssh/command.hpp>
#include <prdist/launch/ssh/hosts.hpp>
#include <prdist/launch/ssh/line_buffer.hpp>

namespace prrun {

/// One running `ssh host exec /bin/sh -s`. Killed when it goes.
class SshChannel {
 public:
  /// @throws prdist::Error when ssh cannot be started
  SshChannel(prdist::SshSettings const& settings, prdist::SshHost const& host);
  ~SshChannel();
  SshChannel(SshChannel const&) = delete;
  SshChannel& operator=(SshChannel const&) = delete;

  /// Bytes for the other side, sent as it takes them.
  void put(std::string_view bytes);
  [[nodiscard]] std::size_t unsent() const noexcept { return pending_.size() - sent_; }
  /// No more bytes: the other side sees the end once all is sent.
  void finish() noexcept { finishing_ = true; }

  [[nodiscard]] prdist::LineBuffer& received() noexcept { return received_; }
  /// The end of what ssh and the programs behind it wrote to standard error.
  [[nodiscard]] std::string const& said() const noexcept { return said_; }
  /// Both streams have ended and the client has: nothing more will come.
  [[nodiscard]] bool closed() const noexcept { return !out_ && !errors_ && ending_.has_value(); }
  /// When the other side last said something. What is sent tells nothing of it: pipes and sshd take bytes for a
  /// process that has stopped.
  [[nodiscard]] std::chrono::steady_clock::time_point heard() const noexcept { return heard_; }
  /// When bytes last went either way, for who sends so much that it stalls unless it is taken.
  [[nodiscard]] std::chrono::steady_clock::time_point moved() const noexcept { return std::max(heard_, sent_at_); }

 private:
  friend class SshChannels;

  void pump();

  pid_t pid_ = -1;
  prdist::Descriptor in_;
  prdist::Descriptor out_;
  prdist::Descriptor errors_;
  std::string pending_;
  std::size_t sent_ = 0;
  bool finishing_ = false;
  prdist::LineBuffer received_;
  std::string said_;
  std::optional<prdist::Ending> ending_;
  std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point sent_at_ = heard_;
};

/// Waits on several. Owns the children of the process and its ending signals, as a supervisor does.
class SshChannels {
 public:
  explicit SshChannels(sigset_t const& held) : signals_(held) {}

  /// Lets bytes flow in and out for at most `patience`, less when something happens; entries may be null. Returns the
  /// ending signals that came, without their echoes.
  [[nodiscard]] std::vector<int> turn(std::vector<SshChannel*> const& channels, std::chrono::milliseconds patience);

 private:
  prdist::SignalSource signals_;
  prdist::SignalEcho echo_;
};

}  // namespace prrun
