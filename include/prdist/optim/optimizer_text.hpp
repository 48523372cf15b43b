// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedules as flags and configurations give them: a name and, behind a colon, the numbers that are not
// to be the usual ones.
//
//   adam
//   adagrad:rate=0.05,initial=0.1,l2=1e-5,low=-10,high=10
//   cosine:steps=100000,last=0.1,warmup=1000
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>
#include <prdist/optim/field.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/optim/wrong_number.hpp>

namespace prdist {

namespace detail {

/// ", did you mean adam? (known are sgd, adam)"
[[nodiscard]] inline std::string hint(std::string_view word, std::vector<std::string> const& known) {
  // Others call it so; and of two letters every word is a neighbour.
  bool const rate = word == "lr" || word == "learning_rate";
  auto const meant = rate ? std::string("rate") : word.size() < 3 ? std::string() : did_you_mean(word, known);
  auto text = meant.empty() ? std::string() : concat(", did you mean ", meant, "?");
  for (auto const& each : known) text += concat(&each == &known.front() ? " (known are " : ", ", each);
  return text + ")";
}

/// `name` or `name:number=value,…`, taken apart. What is wrong with it is told at the end, by wrong().
class NamedNumbers {
 public:
  explicit NamedNumbers(std::string_view text) {
    auto const colon = text.find(':');
    name_ = text.substr(0, colon);
    if (colon == std::string_view::npos) return;
    for (auto rest = text.substr(colon + 1);;) {
      auto const comma = rest.find(',');
      auto const pair = rest.substr(0, comma);
      auto const equals = pair.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        note(concat("'", pair, "' is not NUMBER=VALUE"));
      } else {
        given_.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
      }
      if (comma == std::string_view::npos) return;
      rest.remove_prefix(comma + 1);
    }
  }

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] bool gives(std::string_view number) const noexcept {
    return std::any_of(given_.begin(), given_.end(), [&](auto const& pair) { return pair.first == number; });
  }

  /// Sets `value` when `number` is given.
  template <class Number>
  void take(std::string_view number, Number& value) {
    if (!knows(number)) known_.emplace_back(number);
    auto const it = std::find_if(given_.begin(), given_.end(), [&](auto const& pair) { return pair.first == number; });
    if (it == given_.end()) return;
    if (!read(it->second, value)) note(concat(number, " is '", it->second, "': it must be ", what_is<Number>()));
    given_.erase(it);
  }

  /// All that `part` names.
  template <class Part>
  void take_fields(Part& part) {
    Part::fields(part, [&](char const* number, auto& value, Limit) { take(number, value); });
  }

  [[nodiscard]] bool has_more() const noexcept { return !given_.empty(); }

  /// Calls `use(number, value)` with each pair that was not taken, in their order, and takes it.
  template <class Use>
  void take_rest(Use&& use) {
    for (auto const& [number, value] : std::exchange(given_, {})) use(number, value);
  }

  void note(std::string wrong) {
    if (wrong_.empty()) wrong_ = std::move(wrong);
  }

  /// The first thing that is wrong, or nothing.
  [[nodiscard]] std::string wrong() const {
    if (!wrong_.empty() || given_.empty()) return wrong_;
    auto const& number = given_.front().first;
    if (knows(number)) return concat(number, " is given twice");
    return concat("it has no number '", number, "'", hint(number, known_));
  }

 private:
  [[nodiscard]] bool knows(std::string_view number) const {
    return std::find(known_.begin(), known_.end(), number) != known_.end();
  }

  template <class Number>
  static bool read(std::string_view text, Number& value) {
    if constexpr (std::is_same_v<Number, bool>) {
      value = text == "true" || text == "1";
      return value || text == "false" || text == "0";
    } else {
      return parse_number(text, value);
    }
  }

  template <class Number>
  static constexpr std::string_view what_is() {
    if constexpr (std::is_same_v<Number, bool>) return "true or false";
    if constexpr (std::is_integral_v<Number>) return "a whole number from 0 to 4294967295";
    return "a number that fits a float";
  }

  std::string_view name_;
  std::vector<std::pair<std::string_view, std::string_view>> given_;
  std::vector<std::string> known_;
  std::string wrong_;
};

template <std::size_t... index>
[[nodiscard]] std::vector<std::string> rule_names(std::index_sequence<index...> /*all*/) {
  return {std::string(std::variant_alternative_t<index, UpdateRule>::name)...};
}

}  // namespace detail

/// Reads a rule's name and its numbers; behind any rule may also stand `l1` and `l2` of a penalty (those of ftrl are
/// its own), and `low` and `high` of bounds. `rate` is that of a text that gives none, instead of the rule's.
[[nodiscard]] inline Result<Optimizer> optimizer_from_text(std::string_view text, std::optional<float> rate = {}) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "optimizer '", text, "': ", what,
                 "; give NAME or NAME:NUMBER=VALUE, several with commas, such as adagrad:rate=0.05,l2=1e-5");
  };
  detail::NamedNumbers numbers(text);
  auto const rule = rule_named(numbers.name());
  if (!rule) {
    constexpr auto all = std::make_index_sequence<std::variant_size_v<UpdateRule>>{};
    return wrong(concat("there is no such rule", detail::hint(numbers.name(), detail::rule_names(all))));
  }
  Optimizer optimizer;
  optimizer.rule = *rule;
  std::visit(
      [&](auto& it) {
        if (rate) it.rate = *rate;
        numbers.take_fields(it);
      },
      optimizer.rule);
  numbers.take_fields(optimizer.penalty);
  numbers.take("low", optimizer.bounds.low);
  numbers.take("high", optimizer.bounds.high);
  if (auto const what = numbers.wrong(); !what.empty()) return wrong(what);
  if (auto const what = wrong_number(optimizer); !what.empty()) return wrong(what);
  // Tables may be declared with any; whoever writes such a one has mistyped.
  auto const used = std::visit([](auto const& it) { return it.rate; }, optimizer.rule);
  if (used <= 0) return wrong(concat("rate is ", used, ": ", text_of(Limit::positive)));
  return optimizer;
}

/// Reads a schedule's name and its numbers; those of `piecewise` are `T=FACTOR`, in ascending order.
[[nodiscard]] inline Result<Schedule> schedule_from_text(std::string_view text) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "schedule '", text, "': ", what,
                 "; give NAME or NAME:NUMBER=VALUE, several with commas, such as cosine:steps=100000,warmup=1000 or "
                 "piecewise:1000=0.5,2000=0.1");
  };
  detail::NamedNumbers numbers(text);
  std::vector<std::string> known;
  std::optional<Schedule::Kind> kind;
  for (auto const each : schedule_kinds) {
    known.emplace_back(name_of(each));
    if (numbers.name() == name_of(each)) kind = each;
  }
  if (!kind) return wrong(concat("there is no such schedule", detail::hint(numbers.name(), known)));
  Optimizer scheduled;
  auto& schedule = scheduled.schedule;
  schedule.kind = *kind;
  // What stands in a Schedule without them is a rate that ends at once, or one that never changes.
  Schedule::fields(schedule, [&](std::string_view number, auto const&, Limit) {
    if ((number == "steps" || number == "factor") && !numbers.gives(number)) {
      numbers.note(concat("it needs ", number));
    }
  });
  numbers.take_fields(schedule);
  if (*kind == Schedule::Kind::piecewise) {
    if (!numbers.has_more()) numbers.note("it needs a piece");
    numbers.take_rest([&](std::string_view from, std::string_view factor) {
      if (schedule.piece_count == Schedule::most_pieces) {
        return numbers.note(concat("at most ", Schedule::most_pieces, " pieces are possible"));
      }
      auto& piece = schedule.pieces[schedule.piece_count++];
      if (!parse_number(from, piece.from) || !parse_number(factor, piece.factor)) {
        numbers.note(concat("'", from, "=", factor, "' is no piece: it must be a step and a factor"));
      }
    });
  }
  if (auto const what = numbers.wrong(); !what.empty()) return wrong(what);
  if (auto const what = wrong_number(scheduled); !what.empty()) return wrong(what);
  return schedule;
}

}  // namespace prdist
