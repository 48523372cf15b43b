// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>

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

}  // namespace

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
  while (own < words.size() && words[own] != "--" && words[own].starts_with('-')) {
    auto const& word = words[own];
    auto const* const option = app_.get_option_no_throw(word.substr(0, word.find('=')));
    if (option == nullptr) throw CLI::ParseError(concat("'", word, "' is not a flag of prrun"), wrong_usage);
    bool const value_follows = option->get_items_expected_max() != 0 && word.find('=') == std::string::npos;
    own += value_follows ? 2 : 1;
  }
  own = std::min(own, words.size());
  Words rest(words.begin() + static_cast<std::ptrdiff_t>(own), words.end());
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  app_.parse(Words(words.rend() - static_cast<std::ptrdiff_t>(own), words.rend()));
  return rest;
}

int CommandLine::complain(std::string_view what) {
  complaint_ = concat("prrun: ", what);
  std::cerr << complaint_ << '\n' << usage_ << "\nTry: " << help_command_ << '\n';
  return wrong_usage;
}

}  // namespace prrun
