// SPDX-License-Identifier: Apache-2.0
// Every key of backend.yaml, once: where it stands, what it may hold, what it is for, what it is when left out and
// which targets look at it. Reading, defaults, did-you-mean, `schema`, `convert` and the documentation come from this
// table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "job_spec.hpp"

namespace prdist::gen {

enum class Rule { text, name, quantity, image, path, secret, choice, flag, number, list, map, records };

using Member =
    std::variant<Text JobSpec::*, Number JobSpec::*, TextList JobSpec::*, TextMap JobSpec::*, Records JobSpec::*>;

struct Key {
  std::string_view path{};  ///< in the current form, below `engine`
  Member member{};
  Rule rule = Rule::text;
  std::string_view about{};
  std::string_view choices{};  ///< of a choice: the words; of records: the keys of one
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string_view targets{};   ///< that look at it; empty means all
  std::string_view standard{};  ///< when left out: one word is the value itself, more say what decides it
  std::string_view topic{};

  [[nodiscard]] bool is_for(std::string_view target) const;
  /// Whether `standard` is a value and not an explanation.
  [[nodiscard]] bool plain_standard() const {
    return !standard.empty() && standard.find(' ') == std::string_view::npos;
  }
};

/// In the order in which `convert` and `init` write them.
[[nodiscard]] std::span<Key const> keys();
[[nodiscard]] Key const* find_key(std::string_view path);

/// Another spelling of a key, as one of the dialects has it.
struct Alias {
  std::string_view from;
  std::string_view to;
  bool old_spelling = false;  ///< worth a warning: the document itself misspells it
};

/// Words between blanks.
[[nodiscard]] std::vector<std::string> words(std::string_view text);

}  // namespace prdist::gen
