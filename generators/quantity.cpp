// SPDX-License-Identifier: Apache-2.0
#include "quantity.hpp"

#include <array>
#include <cctype>
#include <cmath>
#include <prdist/core/text.hpp>
#include <utility>

namespace prdist::gen {

namespace {

constexpr std::array<std::pair<std::string_view, long double>, 17> suffixes{{{"", 1.0L},
                                                                             {"Ki", 1024.0L},
                                                                             {"Mi", 1048576.0L},
                                                                             {"Gi", 1073741824.0L},
                                                                             {"Ti", 1099511627776.0L},
                                                                             {"Pi", 1125899906842624.0L},
                                                                             {"Ei", 1152921504606846976.0L},
                                                                             {"n", 1e-9L},
                                                                             {"u", 1e-6L},
                                                                             {"m", 1e-3L},
                                                                             {"k", 1e3L},
                                                                             {"M", 1e6L},
                                                                             {"G", 1e9L},
                                                                             {"T", 1e12L},
                                                                             {"P", 1e15L},
                                                                             {"E", 1e18L}}};

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// Splits into the number in front and the rest; false when there is no number.
bool split(std::string_view text, std::string_view& number, std::string_view& rest) {
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  auto const begin = i;
  while (i < text.size() && digit(text[i])) ++i;
  auto digits = i - begin;
  if (i < text.size() && text[i] == '.') {
    ++i;
    while (i < text.size() && digit(text[i])) ++i, ++digits;
  }
  number = text.substr(0, i);
  rest = text.substr(i);
  return digits > 0;
}

std::string trimmed_number(long double value) {
  auto text = concat(static_cast<double>(value));
  return text;
}

}  // namespace

std::optional<long double> parse_quantity(std::string_view text) {
  std::string_view number;
  std::string_view suffix;
  if (text.size() > 64 || !split(text, number, suffix)) return std::nullopt;
  if (number.front() == '+') number.remove_prefix(1);
  double value = 0;
  std::string padded(number);
  if (padded.back() == '.') padded += '0';
  if (padded.front() == '.') padded.insert(0, "0");
  if (padded.starts_with("-.")) padded.insert(1, "0");
  if (!parse_number(std::string_view(padded), value)) return std::nullopt;
  if (suffix.size() > 1 && (suffix.front() == 'e' || suffix.front() == 'E')) {
    auto exponent = suffix.substr(1);
    if (exponent.front() == '+') exponent.remove_prefix(1);
    int power = 0;
    if (parse_number(exponent, power) && power >= -18 && power <= 18) return value * std::pow(10.0L, power);
    if (suffix != "Ei") return std::nullopt;
  }
  for (auto const& [name, factor] : suffixes) {
    if (name == suffix && (!name.empty() || suffix.empty())) return value * factor;
  }
  return std::nullopt;
}

std::string quantity_meant(std::string_view text) {
  std::string compact;
  for (auto const c : text) {
    if (c != ' ' && c != '_') compact += c;
  }
  std::string_view number;
  std::string_view suffix;
  if (!split(compact, number, suffix)) return {};
  if (number.front() == '-') return {};
  std::string lower;
  for (auto const c : suffix) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::string_view const word : {"ibytes", "ibyte", "bytes", "byte", "ib", "b", "i"}) {
    if (lower.size() >= word.size() && lower.ends_with(word)) {
      lower.erase(lower.size() - word.size());
      break;
    }
  }
  std::string meant(number);
  if (lower.empty()) {
    // nothing but a unit, or nothing at all
  } else if (lower.size() == 1 && std::string_view("kmgtpe").find(lower[0]) != std::string_view::npos) {
    meant += static_cast<char>(std::toupper(static_cast<unsigned char>(lower[0])));
    meant += 'i';
  } else if (lower == "cores" || lower == "core" || lower == "cpu" || lower == "cpus") {
  } else {
    return {};
  }
  return meant != text && parse_quantity(meant) ? meant : std::string{};
}

std::string bytes_text(long double amount) {
  for (auto const* const suffix : {"Ti", "Gi", "Mi", "Ki"}) {
    for (auto const& [name, factor] : suffixes) {
      // A whole number of the larger unit, or the next smaller one is tried.
      if (name == suffix && amount >= factor && std::fmod(amount, factor) == 0) {
        return concat(static_cast<long long>(amount / factor), suffix);
      }
    }
  }
  return trimmed_number(amount);
}

std::string cores_text(long double amount) {
  auto const thousandths = std::llround(std::fmin(amount * 1000, 9e18L));
  return thousandths % 1000 == 0 ? concat(thousandths / 1000) : concat(thousandths, 'm');
}

}  // namespace prdist::gen
