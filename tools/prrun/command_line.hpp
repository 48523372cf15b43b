// SPDX-License-Identifier: Apache-2.0
// What the command lines of prrun have in common: two spellings of a flag, help that begins with examples, numbers
// with bounds, and a program behind the flags whose own flags are left alone.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>

#include "commands.hpp"

namespace prrun {

inline constexpr int wrong_usage = 64;

/// Both spellings of a flag: Paddle's underscores and the usual hyphens.
[[nodiscard]] std::string spelled(std::string name);

/// A check that the text is a number from `least` to `most`; `what` says of what.
template <class Number>
[[nodiscard]] CLI::Validator within(Number least, Number most, std::string_view what) {
  return CLI::Validator(
      [=](std::string const& text) {
        auto number = least;
        if (prdist::parse_number(text, number) && number >= least && number <= most) return std::string();
        return prdist::concat("'", text, "' is not ", what, " from ", least, " to ", most);
      },
      "");
}

[[nodiscard]] inline CLI::Validator seconds() {
  return within(0.0, 31'536'000.0, "a number of seconds");
}
[[nodiscard]] inline std::chrono::milliseconds millis(double seconds) {
  return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

/// Yes or no as Paddle's flags spell it: True, false, 1, 0, yes, no.
[[nodiscard]] CLI::Validator truth();
[[nodiscard]] bool is_true(std::string_view text);

/// A line for each flag that was given and whose variable says something else: the flag is what counts.
[[nodiscard]] std::vector<std::string> overridden_variables(CLI::App const& app);

/// A command's flags and how it is used. The usage is shown in its help and behind every complaint.
class CommandLine {
 public:
  CommandLine(std::string description, std::string notes, std::string usage, std::string help_command);

  [[nodiscard]] CLI::App& flags() { return app_; }

  /// The program and its arguments behind the flags. An exit code instead when there is nothing left to do: help was
  /// shown, or a complaint. `check` may throw CLI::ValidationError for what one flag alone does not tell.
  template <class Check>
  [[nodiscard]] std::optional<int> parse(Words const& words, bool needs_program, Words& program, Check&& check) {
    try {
      program = take(words);
      check();
      if (needs_program && program.empty()) throw CLI::RequiredError("a program");
      if (!needs_program && !program.empty()) {
        throw CLI::ParseError(prdist::concat("'", program.front(), "' is not wanted here"), wrong_usage);
      }
    } catch (CLI::Success const& wanted) {  // --help and --version
      return app_.exit(wanted);
    } catch (CLI::ParseError const& error) {
      return complain(prdist::concat(error.what(), origin_of(error.what(), words)));
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<int> parse(Words const& words, bool needs_program, Words& program) {
    return parse(words, needs_program, program, [] {});
  }

  /// Flags of the form --name=value that are not ours are kept, when `wanted` says so after parsing, instead of
  /// refused.
  void keep_unknown(std::function<bool()> wanted) { keeps_unknown_ = std::move(wanted); }
  [[nodiscard]] Words const& unknown() const { return unknown_; }

  /// What was wrong at the last parse(), for a termination log; empty after success.
  [[nodiscard]] std::string const& complaint() const { return complaint_; }

 private:
  /// Parses what is ours, up to -- or the program's name, and returns the rest.
  [[nodiscard]] Words take(Words const& words);
  /// " (from PADDLE_SERVER_NUM)" where the complaint is about a flag that only a variable has given.
  [[nodiscard]] std::string origin_of(std::string_view complaint, Words const& words) const;
  [[nodiscard]] int complain(std::string_view what);

  CLI::App app_;
  std::function<bool()> keeps_unknown_;
  Words unknown_;
  std::string usage_;
  std::string help_command_;
  std::string complaint_;
};

}  // namespace prrun
