// SPDX-License-Identifier: Apache-2.0
// kubectl as prrun calls it: bounded in time, without a shell, and with its refusals put into our words and exit codes.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/command.hpp>

#include "command_line.hpp"

namespace prrun {

/// Which cluster, and where in it.
struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
  std::string name_space;
  double request_timeout = 10;
};

void declare(CLI::App& app, ClusterFlags& flags);

/// The same flags again, for a command that is shown to the user: " -n training".
[[nodiscard]] std::string shown_flags(ClusterFlags const& flags);

enum class Refusal { none, not_found, exists, forbidden, unreachable, other };

class Kubectl {
 public:
  /// Looks for kubectl in PATH. @throws prdist::Error config.missing
  Kubectl(ClusterFlags flags, prdist::Environment const& environment);

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }
  [[nodiscard]] ClusterFlags const& flags() const { return flags_; }

  /// All words of a call: those that choose the cluster, then `words`. A request may take `seconds`; 0 is for ever.
  [[nodiscard]] Words call(Words const& words, double seconds) const;

  /// Runs it to its end; `wait` is how long it may stay at it by its own choice, on top of its requests.
  [[nodiscard]] prdist::Result<prdist::CommandResult> run(Words const& words, std::string input = {},
                                                          std::chrono::milliseconds wait = {}) const;

  /// What it prints. @throws prdist::Error when it refuses
  [[nodiscard]] std::string ask(Words const& words, std::string input = {}) const;

  /// Becomes kubectl, which then writes where we do. Returns only to throw. @throws prdist::Error
  [[noreturn]] void become(Words const& words) const;

 private:
  ClusterFlags flags_;
  std::filesystem::path path_;
};

/// What kind of refusal kubectl's own text is.
[[nodiscard]] Refusal refusal_of(prdist::CommandResult const& result);

/// Its refusal as an error: transport.* where trying again may help, else config.*; the first line of what it said, and
/// the way out. `what` is what was asked for.
[[nodiscard]] prdist::Error refused(std::string_view what, prdist::CommandResult const& result);

/// A command as it would be typed: words quoted where a shell needs it.
[[nodiscard]] std::string typed(std::string_view program, Words const& words);

/// A job's name as Kubernetes takes it. @throws prdist::Error config.invalid
void check_job_name(std::string_view name);

/// The namespace that is meant: the flag's, or that of kubectl's context. Asks no cluster. @throws prdist::Error
[[nodiscard]] std::string current_namespace(Kubectl const& kubectl);

}  // namespace prrun
