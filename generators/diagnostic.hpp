// SPDX-License-Identifier: Apache-2.0
// What is wrong with an input, as a compiler would say it: a code that `prgen explain` knows, a place, a sentence and
// the way out. They are collected, so that one run shows all of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source.hpp"

namespace prdist::gen {

enum class Severity { note, warning, error };

[[nodiscard]] constexpr std::string_view name_of(Severity severity) noexcept {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code{};  ///< PRnnn; empty for notes
  Where where{};
  std::string message{};
  std::string help{};  ///< the way out, without a full stop; may be empty
};

class Diagnostics {
 public:
  void error(std::string code, Where where, std::string message, std::string help = {}) {
    add({Severity::error, std::move(code), std::move(where), std::move(message), std::move(help)});
  }
  void warning(std::string code, Where where, std::string message, std::string help = {}) {
    add({Severity::warning, std::move(code), std::move(where), std::move(message), std::move(help)});
  }
  void note(std::string message, std::string help = {}) {
    add({Severity::note, {}, {}, std::move(message), std::move(help)});
  }

  /// Writes *** in place of `secret` in whatever is said from now on.
  void hide(std::string secret) { secrets_.push_back(std::move(secret)); }

  [[nodiscard]] bool failed() const noexcept { return errors_ != 0; }
  [[nodiscard]] bool warned() const noexcept { return warnings_ != 0; }
  /// Whether an error was found at the key `path`, above it, or at a key that was probably meant to be it.
  [[nodiscard]] bool mentions(std::string_view path) const;
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }

  /// In the order of the file, files in the order in which they were read, notes last.
  [[nodiscard]] std::vector<Diagnostic> sorted() const;

 private:
  void add(Diagnostic diagnostic);

  std::vector<Diagnostic> list_;
  std::vector<std::string> secrets_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

}  // namespace prdist::gen
