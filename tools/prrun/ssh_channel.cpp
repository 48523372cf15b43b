// SPDX-License-Identifier: Apache-2.0
#include "ssh_channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/program.hpp>

namespace prrun {

using namespace prdist;

namespace {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(Errc::internal, "ssh: no pipe could be made", ": raise ulimit -n");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Ours alone: the other end of a pipe is not touched by it.
void never_block(Descriptor const& end) {
  ::fcntl(end.get(), F_SETFL, ::fcntl(end.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

SshChannel::SshChannel(SshSettings const& settings, SshHost const& host) {
  auto const* const path = std::getenv("PATH");
  auto const program = find_program("ssh", path == nullptr ? "/usr/bin:/bin" : path, {});
  if (!program) {
    throw Error(Errc::config_missing, "ssh: there is no program ssh in PATH", ": apt-get install openssh-client");
  }
  auto in = make_pipe();
  auto out = make_pipe();
  auto errors = make_pipe();
  SpawnRequest request{program->string(), ssh_arguments(settings, host), current_environment(), out.write.get(), -1};
  request.input = in.read.get();
  request.errors = errors.write.get();
  pid_ = spawn(request).value();
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  errors_ = std::move(errors.read);
  for (auto const* end : {&in_, &out_, &errors_}) never_block(*end);
}

SshChannel::~SshChannel() {
  // Its number stays its own until it is reaped, which nobody else does for it.
  if (!ending_ && pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void SshChannel::put(std::string_view bytes) {
  if (!in_) return;
  pending_.erase(0, std::exchange(sent_, 0));
  pending_ += bytes;
}

void SshChannel::pump() {
  auto const now = std::chrono::steady_clock::now();
  while (in_ && unsent() != 0) {
    auto const count = ::write(in_.get(), pending_.data() + sent_, unsent());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) {  // nobody reads any more; the streams tell why
      in_.reset();
      pending_.clear();
      sent_ = 0;
      break;
    }
    sent_ += static_cast<std::size_t>(count);
    sent_at_ = now;
  }
  if (finishing_ && unsent() == 0) in_.reset();
  char bytes[64 * 1024];
  auto const drain = [&](Descriptor& end, auto const& take) {
    for (int turns = 0; end && turns < 16; ++turns) {  // the others have their turn too
      auto const count = ::read(end.get(), bytes, sizeof bytes);
      if (count > 0) {
        take(std::string_view(bytes, static_cast<std::size_t>(count)));
        heard_ = now;
        continue;
      }
      if (count < 0 && errno == EINTR) continue;
      if (count == 0 || errno != EAGAIN) end.reset();
      break;
    }
  };
  drain(out_, [&](std::string_view text) { received_.put(text); });
  drain(errors_, [&](std::string_view text) {
    said_ += text;
    if (said_.size() > (16 << 10)) said_.erase(0, said_.size() - (8 << 10));
  });
}

std::vector<int> SshChannels::turn(std::vector<SshChannel*> const& channels, std::chrono::milliseconds patience) {
  std::vector<pollfd> entries;
  auto const add = [&](Descriptor const& end, short what) {
    if (end) entries.push_back({end.get(), what, 0});
  };
  for (auto const* each : channels) {
    if (each == nullptr) continue;
    add(each->out_, POLLIN);
    add(each->errors_, POLLIN);
    if (each->unsent() != 0) add(each->in_, POLLOUT);
  }
  ::poll(entries.data(), entries.size(), static_cast<int>(patience.count()));
  for (auto* each : channels) {
    if (each != nullptr) each->pump();
  }
  std::vector<int> ending;
  for (int const signal : signals_.wait({})) {
    // The echo of the signal that ended a job must not keep its logs from being gathered.
    if (signal != SIGCHLD && !echo_.heard(signal, std::chrono::steady_clock::now())) ending.push_back(signal);
  }
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    for (auto* each : channels) {
      if (each == nullptr || each->pid_ != pid) continue;
      each->ending_ = ending_of(status);
      each->pump();  // what it wrote last, which a pipe holds whole
      // A helper that it left (ProxyCommand) may keep its streams open; that is nobody we talk to.
      for (auto* end : {&each->in_, &each->out_, &each->errors_}) end->reset();
    }
  }
  return ending;
}

}  // namespace prrun
