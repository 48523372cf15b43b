// SPDX-License-Identifier: Apache-2.0
// What the launcher's tests share: real processes, each wait bounded, none of them by sleeping.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/process.hpp>

namespace launch_test {

using Seconds = std::chrono::seconds;

/// Long enough for a loaded machine under a sanitizer; only a failing test waits that long.
inline constexpr Seconds patience{20};

class TempFolder {
 public:
  TempFolder() : path_(std::filesystem::temp_directory_path() / "prdist_launch_XXXXXX") {
    auto text = path_.string();
    if (::mkdtemp(text.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = text;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(TempFolder const&) = delete;
  TempFolder& operator=(TempFolder const&) = delete;

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string const& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Variables as a function to ask.
inline prdist::Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    auto const found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

/// The text of the error that `work` throws; empty when it throws none.
template <class Work>
[[nodiscard]] std::string error_of(Work&& work) {
  try {
    (void)work();
  } catch (prdist::Error const& error) {
    return error.what();
  }
  return {};
}

inline bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Words of prrun: flags, and a script as the program.
inline std::vector<std::string> shell(std::vector<std::string> flags, std::string const& script) {
  flags.insert(flags.end(), {"--", "sh", "-c", script});
  return flags;
}

inline std::string read_file(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(std::filesystem::path const& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// 0 for one that is gone.
inline pid_t parent_of(pid_t pid) {
  auto const text = read_file(prdist::concat("/proc/", pid, "/status"));
  auto const at = text.find("\nPPid:\t");
  pid_t parent = 0;
  if (at != std::string::npos) {
    (void)prdist::parse_number(text.substr(at + 7, text.find('\n', at + 1) - at - 7), parent);
  }
  return parent;
}

/// The process that supervises below the visible one of prrun; a guard is between.
inline pid_t worker_of(pid_t visible) {
  pid_t pid = visible;
  for (int i = 0; i < 2; ++i) {
    pid_t child = 0;
    std::ifstream(prdist::concat("/proc/", pid, "/task/", pid, "/children")) >> child;
    pid = child;
  }
  return pid;
}

inline bool readable_within(int fd, std::chrono::milliseconds time) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(time.count())) > 0;
}

/// Whether the process ends within `time`. True at once for one that is gone.
inline bool gone_within(pid_t pid, std::chrono::milliseconds time = patience) {
  prdist::Descriptor const handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return !handle || readable_within(handle.get(), time);
}

/// Reaps a child, killing it when it does not end in time.
inline std::optional<prdist::Ending> reap(pid_t pid, std::chrono::milliseconds time = patience) {
  bool const ended = gone_within(pid, time);
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return ended ? std::optional(prdist::ending_of(status)) : std::nullopt;
}

/// A pipe by name: processes say that they have come so far, and the test waits for it.
class Mailbox {
 public:
  explicit Mailbox(std::filesystem::path path) : path_(std::move(path)) {
    if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("no fifo");
    // Open for writing as well: writers never wait, and the end of one is not the end of all.
    fd_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  }

  /// The next word; empty when none comes in time.
  [[nodiscard]] std::string next(std::chrono::milliseconds time = patience) {
    auto const deadline = std::chrono::steady_clock::now() + time;
    for (;;) {
      if (auto const end = text_.find('\n'); end != std::string::npos) {
        auto word = text_.substr(0, end);
        text_.erase(0, end + 1);
        return word;
      }
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (!readable_within(fd_.get(), std::max(left, std::chrono::milliseconds(0)))) return {};
      char chunk[512];
      auto const size = ::read(fd_.get(), chunk, sizeof chunk);
      if (size > 0) text_.append(chunk, static_cast<std::size_t>(size));
    }
  }

  /// `count` words, each of them a pid.
  [[nodiscard]] std::vector<pid_t> pids(std::size_t count) {
    std::vector<pid_t> pids;
    for (std::size_t i = 0; i < count; ++i) {
      auto const word = next();
      pid_t pid = 0;
      EXPECT_TRUE(prdist::parse_number(word, pid)) << "'" << word << "'";
      if (pid > 1) pids.push_back(pid);
    }
    return pids;
  }

 private:
  std::filesystem::path path_;
  prdist::Descriptor fd_;
  std::string text_;
};

struct Finished {
  std::optional<prdist::Ending> ending;
  std::string out;
  std::string error;
  double seconds = 0;

  /// The code a shell would show, or -1 for one that had to be killed by the test.
  [[nodiscard]] int code() const { return ending ? prdist::exit_code(*ending) : -1; }
};

/// prrun in a folder of its own, which is its current one.
class Prrun {
 public:
  using Variables = std::map<std::string, std::string>;

  explicit Prrun(std::vector<std::string> flags, Variables variables = {}) : Prrun(nullptr, flags, variables) {}
  Prrun(TempFolder& folder, std::vector<std::string> flags, Variables variables = {})
      : Prrun(&folder, std::move(flags), std::move(variables)) {}
  ~Prrun() {
    if (pid_ > 0) (void)reap(pid_, std::chrono::milliseconds(0));
  }
  Prrun(Prrun const&) = delete;
  Prrun& operator=(Prrun const&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  [[nodiscard]] Finished finish(std::chrono::milliseconds time = patience) {
    Finished finished;
    finished.ending = reap(std::exchange(pid_, 0), time);
    finished.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    finished.out = read_file(*folder_ / "stdout");
    finished.error = read_file(*folder_ / "stderr");
    return finished;
  }

  [[nodiscard]] std::filesystem::path folder() const { return folder_->path(); }
  [[nodiscard]] std::string log(std::string const& name) const { return read_file(*folder_ / ("log/" + name)); }

 private:
  Prrun(TempFolder* folder, std::vector<std::string> flags, Variables variables)
      : own_(folder == nullptr ? std::make_optional<TempFolder>() : std::nullopt),
        folder_(folder == nullptr ? &*own_ : folder),
        start_(std::chrono::steady_clock::now()) {
    variables.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
    variables["FOLDER"] = folder_->path().string();
    std::vector<std::string> environment;
    for (auto const& [name, value] : variables) environment.push_back(prdist::concat(name, '=', value));
    // In a control group of the test's, where it names one.
    std::vector<std::string> arguments{"-c",
                                       R"(cd "$FOLDER" && { [ -z "$GROUP" ] || echo $$ >"$GROUP/cgroup.procs"; } &&
      exec "$0" "$@" >stdout 2>stderr)",
                                       PRRUN_PATH};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    pid_ = prdist::spawn({"/bin/sh", arguments, environment, STDERR_FILENO, -1}).value();
  }

  std::optional<TempFolder> own_;
  TempFolder* folder_;
  std::chrono::steady_clock::time_point start_;
  pid_t pid_ = 0;
};

[[nodiscard]] inline Finished run_prrun(std::vector<std::string> flags, Prrun::Variables variables = {}) {
  return Prrun(std::move(flags), std::move(variables)).finish();
}

/// Runs `work` in a process of its own, for what takes signals or children of the whole process; it returns the code.
template <class Work>
[[nodiscard]] int in_child(Work&& work) {
  std::fflush(nullptr);  // or what is buffered would be written twice
  auto const pid = ::fork();
  if (pid == 0) ::_exit(work());
  auto const ending = reap(pid);
  return ending ? prdist::exit_code(*ending) : -1;
}

}  // namespace launch_test
