// SPDX-License-Identifier: Apache-2.0
// Paddle's entry strings: which keys of an embedding get a row, as programs and configurations written for it say it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/table/row_policy.hpp>

namespace prdist {

struct EntryPolicy {
  Admission admission{};
  std::string show{};   ///< the input that holds shows, when the entry names one; statistics are to be kept then
  std::string click{};  ///< likewise

  friend bool operator==(EntryPolicy const&, EntryPolicy const&) = default;
};

/// Reads `none`, `count_filter_entry:<n>`, `probability_entry:<p>`, `show_click_entry:<show>:<click>` or, which Paddle
/// does not have, `bloom_filter_entry:<n>`.
[[nodiscard]] inline Result<EntryPolicy> entry_from_text(std::string_view text) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "entry '", text, "': ", what,
                 "; entries are none, count_filter_entry:<n>, bloom_filter_entry:<n>, probability_entry:<p>, "
                 "show_click_entry:<show>:<click>");
  };
  auto const colon = text.find(':');
  auto const name = text.substr(0, colon);
  auto const value = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (text == "none") return EntryPolicy{};
  if (name == "count_filter_entry") {
    std::uint32_t count = 0;
    if (!parse_number(value, count)) {
      return wrong("the count must be a whole number from 0 to 4294967295, up to 1 for every key");
    }
    return EntryPolicy{.admission = count <= 1 ? Admission{} : Admission::after(count)};
  }
  if (name == "bloom_filter_entry") {
    std::uint32_t count = 0;
    if (!parse_number(value, count) || count == 0 || count > 255) {
      return wrong("the count must be a whole number from 1 to 255, 1 for every key");
    }
    return EntryPolicy{.admission =
                           count == 1 ? Admission{} : Admission{.kind = Admission::Kind::bloom, .pushes = count}};
  }
  if (name == "probability_entry") {
    double probability = 0;
    if (!parse_number(value, probability) || !(probability > 0 && probability < 1)) {
      return wrong("the probability must be a number between 0 and 1, both excluded");
    }
    return EntryPolicy{.admission = Admission::by_chance(probability)};
  }
  if (name == "show_click_entry") {
    auto const second = value.find(':');
    if (second == std::string_view::npos || second == 0 || second + 1 == value.size() ||
        value.find(':', second + 1) != std::string_view::npos) {
      return wrong("it names two inputs, one of shows and one of clicks");
    }
    return EntryPolicy{.show = std::string(value.substr(0, second)), .click = std::string(value.substr(second + 1))};
  }
  return wrong("it is none of those known");
}

}  // namespace prdist
