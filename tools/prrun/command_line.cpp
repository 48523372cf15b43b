// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include <prdist/core/suggest.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/termination_log.hpp>

namespace prrun {

using prdist::concat;

namespace {

/// One spelling of each flag is enough to read.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(CLI::App const*, std::string) const override { return concat("\n", usage_, "\n"); }
  std::string make_option_name(CLI::Option const* option, bool) const override {
    auto const shorts = option->get_snames();
    return concat(shorts.empty() ? "" : "-" + shorts.front() + ", ", "--", option->get_lnames().front());
  }

 private:
  std::string usage_;
};

/// The flag that was probably meant, as a question; empty when none is close.
std::string meant_flag(CLI::App const& app, std::string_view word) {
  word = word.substr(0, word.find('='));
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  if (word.size() < 2) return {};
  std::vector<std::string> known;
  for (auto const* const option : app.get_options()) {
    // Those that are only taken to be refused have no group to be shown in.
    if (option->get_group().empty()) continue;
    known.insert(known.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  auto const meant = prdist::did_you_mean(word, known);
  return meant.empty() ? meant : concat(": did you mean '--", meant, "'?");
}

/// The variable that stands for a flag, when it is set to something.
std::string variable_of(CLI::Option const& option) {
  auto const name = option.get_envname();
  auto const* const value = name.empty() ? nullptr : std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

bool is_true(std::string_view text) {
  auto const word = lower(text);
  return word == "true" || word == "1" || word == "yes" || word == "on";
}

CLI::Validator truth() {
  return CLI::Validator(
      [](std::string const& text) {
        static constexpr std::array<std::string_view, 4> no{"false", "0", "no", "off"};
        bool const fine = is_true(text) || std::ranges::find(no, lower(text)) != no.end();
        return fine ? std::string() : concat("'", text, "' is not true or false");
      },
      "");
}

std::vector<std::string> overridden_variables(CLI::App const& app) {
  std::vector<std::string> lines;
  for (auto const* const option : app.get_options()) {
    auto const variable = variable_of(*option);
    if (variable.empty() || option->count() == 0 || option->results().back() == variable) continue;
    auto const shown = [](std::string const& value) {
      return prdist::without_secrets(value, prdist::current_environment());
    };
    lines.push_back(concat("--", option->get_lnames().front(), ' ', shown(option->results().back()), " is used, not ",
                           option->get_envname(), '=', shown(variable), " of the environment"));
  }
  return lines;
}

std::string spelled(std::string name) {
  auto hyphens = name;
  for (auto& c : hyphens) c = c == '_' ? '-' : c;
  return hyphens == name ? "--" + name : concat("--", name, ",--", hyphens);
}

CommandLine::CommandLine(std::string description, std::string notes, std::string usage, std::string help_command)
    : app_(std::move(description), "prrun"), usage_(std::move(usage)), help_command_(std::move(help_command)) {
  app_.footer(std::move(notes));
  app_.formatter(std::make_shared<Help>(usage_));
  app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Words CommandLine::take(Words const& words) {
  std::size_t own = 0;
  Words ours;
  unknown_.clear();
  // Without its value, which may be a password.
  auto const refuse = [&](std::string const& word) {
    auto const name = word.substr(0, word.find('='));
    throw CLI::ParseError(concat("'", name, "' is not a flag of prrun", meant_flag(app_, name)), wrong_usage);
  };
  while (own < words.size() && words[own] != "--" && words[own].starts_with('-')) {
    auto const& word = words[own];
    auto const* const option = app_.get_option_no_throw(word.substr(0, word.find('=')));
    bool const has_value = word.find('=') != std::string::npos;
    if (option == nullptr) {
      if (!keeps_unknown_ || !has_value || !word.starts_with("--")) refuse(word);
      unknown_.push_back(word);
      ++own;
      continue;
    }
    bool const value_follows = option->get_items_expected_max() != 0 && !has_value;
    auto const next = std::min(own + (value_follows ? 2 : 1), words.size());
    ours.insert(ours.end(), words.begin() + static_cast<std::ptrdiff_t>(own),
                words.begin() + static_cast<std::ptrdiff_t>(next));
    own = next;
  }
  Words rest(words.begin() + static_cast<std::ptrdiff_t>(own), words.end());
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  app_.parse(Words(ours.rbegin(), ours.rend()));
  if (!unknown_.empty() && !keeps_unknown_()) refuse(unknown_.front());
  return rest;
}

std::string CommandLine::origin_of(std::string_view complaint, Words const& words) const {
  for (auto const* const option : app_.get_options()) {
    auto const given = [&](std::string const& word) {
      return word.starts_with('-') && option->check_name(word.substr(0, word.find('=')));
    };
    if (variable_of(*option).empty() || std::ranges::any_of(words, given)) continue;
    if (complaint.starts_with(option->get_name() + ":")) return concat(" (from ", option->get_envname(), ")");
  }
  return {};
}

int CommandLine::complain(std::string_view what) {
  complaint_ = concat("prrun: ", what);
  std::cerr << prdist::printable(complaint_) << '\n' << usage_ << "\nTry: " << help_command_ << '\n';
  return wrong_usage;
}

}  // namespace prrun
