// SPDX-License-Identifier: Apache-2.0
// Environment variables as a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/fleet/roles.hpp>

namespace prdist::test {

struct Variables {
  std::map<std::string, std::string, std::less<>> all{};

  [[nodiscard]] Variables with(std::string const& name, std::string const& value) const {
    auto copy = *this;
    copy.all[name] = value;
    return copy;
  }
  [[nodiscard]] Variables without(std::string const& name) const {
    auto copy = *this;
    copy.all.erase(name);
    return copy;
  }

  /// As an Environment.
  std::optional<std::string> operator()(std::string_view name) const {
    auto const it = all.find(name);
    return it == all.end() ? std::nullopt : std::optional(it->second);
  }
};

}  // namespace prdist::test
