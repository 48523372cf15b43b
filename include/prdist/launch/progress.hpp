// SPDX-License-Identifier: Apache-2.0
// How a trainer tells its launcher how far it is: a file of one line, named by PRDIST_PROGRESS and replaced as a
// whole, such as
//   step=1200 examples=614400 total=1000000 loss=0.4512 rate=21034 phase=train
// Every field may be missing; unknown ones are passed over. A file asks nothing of either side: it works over a
// shared folder, and a health probe can look at its age.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

inline constexpr std::string_view progress_variable = "PRDIST_PROGRESS";

struct Progress {
  std::optional<std::uint64_t> step;
  std::optional<std::uint64_t> examples;  ///< read so far by this trainer
  std::optional<std::uint64_t> total;     ///< all it will read
  std::optional<double> loss;
  std::optional<double> rate;  ///< examples per second
  std::string phase;           ///< one word

  friend bool operator==(Progress const&, Progress const&) = default;
};

[[nodiscard]] inline std::string to_string(Progress const& progress) {
  std::string line;
  auto const put = [&](std::string_view name, auto const& value) {
    if (value) line += concat(line.empty() ? "" : " ", name, '=', *value);
  };
  put("step", progress.step);
  put("examples", progress.examples);
  put("total", progress.total);
  put("loss", progress.loss);
  put("rate", progress.rate);
  // A blank in the phase would begin another field.
  auto phase = progress.phase.empty() ? std::optional<std::string>() : progress.phase;
  if (phase) {
    for (auto& c : *phase) c = c == ' ' || c == '\n' ? '_' : c;
  }
  put("phase", phase);
  return line;
}

/// Reads the line's known fields; a field that cannot be read counts as missing.
[[nodiscard]] inline Progress parse_progress(std::string_view line) {
  Progress progress;
  line = line.substr(0, line.find('\n'));
  while (!line.empty()) {
    auto const field = line.substr(0, line.find(' '));
    line.remove_prefix(field.size() < line.size() ? field.size() + 1 : field.size());
    auto const equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    auto const name = field.substr(0, equals);
    auto const text = field.substr(equals + 1);
    auto const get = [&](auto& target) {
      typename std::remove_reference_t<decltype(target)>::value_type value{};
      if (parse_number(text, value)) target = value;
    };
    if (name == "step") get(progress.step);
    if (name == "examples") get(progress.examples);
    if (name == "total") get(progress.total);
    if (name == "loss") get(progress.loss);
    if (name == "rate") get(progress.rate);
    if (name == "phase") progress.phase = text;
  }
  return progress;
}

/// Nothing when there is no such file yet.
[[nodiscard]] inline std::optional<Progress> read_progress(std::filesystem::path const& path) {
  Descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return std::nullopt;
  char text[1024];
  auto const size = ::read(file.get(), text, sizeof text);
  if (size < 0) return std::nullopt;
  return parse_progress({text, static_cast<std::size_t>(size)});
}

/// Writes one trainer's progress file, at most five times a second.
class ProgressWriter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds interval{200};

  /// An empty path makes a writer that writes nothing.
  explicit ProgressWriter(std::string path) : path_(std::move(path)) {}

  /// Replaces the file when the interval is over or the phase is another one, and says whether it did. Costs a
  /// comparison otherwise; never throws: training does not stop because a disk is full.
  bool write(Progress const& progress, TimePoint now) noexcept {
    if (path_.empty()) return false;
    if (written_ && now - last_ < interval && progress.phase == phase_) return false;
    try {
      last_ = now;
      written_ = true;
      phase_ = progress.phase;
      return replace(to_string(progress) + '\n');
    } catch (...) {
      return false;
    }
  }

 private:
  /// A reader sees the old line or the new one, never a part.
  [[nodiscard]] bool replace(std::string const& line) const {
    auto const next = path_ + ".tmp";
    {
      Descriptor const file(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644));
      if (!file || ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
    }
    return std::rename(next.c_str(), path_.c_str()) == 0;
  }

  std::string path_;
  std::string phase_;
  TimePoint last_{};
  bool written_ = false;
};

/// Tells the launcher, if there is one: does nothing when PRDIST_PROGRESS is unset at the first call. Any thread.
inline void write_progress(Progress const& progress, ProgressWriter::TimePoint now) noexcept {
  static std::mutex mutex;
  static ProgressWriter writer{[] {
    char const* const path = std::getenv(progress_variable.data());
    return std::string(path == nullptr ? "" : path);
  }()};
  std::lock_guard const lock(mutex);
  writer.write(progress, now);
}

}  // namespace prdist
