// SPDX-License-Identifier: Apache-2.0
// What Paddle's text files of sparse and dense tables have in common: folders and names, and lines of numbers that are
// read strictly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/escaped.hpp>
#include <prdist/core/text.hpp>
#include <prdist/data/line_reader.hpp>

namespace prdist {

/// `dir`/000: where Paddle keeps the table of this number.
[[nodiscard]] inline std::string paddle_table_folder(std::string_view dir, std::uint32_t table) {
  return concat(dir, '/', part_name(table).substr(5));
}

namespace detail {

/// What a file of Paddle's is called: part-<server>[-<shard>][.gz].
struct PaddleFileName {
  std::uint32_t server = 0;
  std::optional<std::uint32_t> shard{};
};

[[nodiscard]] inline std::optional<PaddleFileName> paddle_file_name(std::string_view name) {
  PaddleFileName parsed;
  if (!name.starts_with("part-")) return {};
  name.remove_prefix(5);
  if (name.ends_with(".gz")) name.remove_suffix(3);
  auto const dash = name.find('-');
  if (!parse_number(name.substr(0, dash), parsed.server)) return {};
  if (dash != std::string_view::npos && !parse_number(name.substr(dash + 1), parsed.shard.emplace())) return {};
  return parsed;
}

/// The blank-separated fields of a line, one at a time; what is wrong is told by file, line and field.
class PaddleFields {
 public:
  PaddleFields(std::string const& path, Line const& line) : path_(path), line_(line), rest_(line.text) {
    if (line.cut) fail("the line is longer than any of this layout");
  }

  [[nodiscard]] bool more() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    return !rest_.empty();
  }

  template <class Number>
  [[nodiscard]] Number next() {
    if (!more()) fail(concat("has ", field_, " fields, too few"));
    auto const text = rest_.substr(0, rest_.find_first_of(" \t"));
    rest_.remove_prefix(text.size());
    ++field_;
    // Floats are read as doubles: one too small to hold is 0 and no fault.
    std::conditional_t<std::is_floating_point_v<Number>, double, Number> number{};
    if (!parse_number(text, number)) {
      refuse(text, std::is_floating_point_v<Number> ? "a number" : "a key, a whole number from 0 to 2^64 - 1");
    }
    if constexpr (std::is_floating_point_v<Number>) {
      // Also what is no number at all, which compares with nothing.
      if (!(std::abs(number) <= std::numeric_limits<Number>::max())) refuse(text, "a number that a weight can be");
    }
    return static_cast<Number>(number);
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(Errc::data_line, path_, ':', line_.number, ", ", what,
                ": check that the layout is the one the table was saved with, or save it again");
  }

 private:
  [[noreturn]] void refuse(std::string_view text, std::string_view expected) const {
    fail(concat("field ", field_, " '", escaped(text.substr(0, 32)), "' is not ", expected));
  }

  std::string const& path_;
  Line const& line_;
  std::string_view rest_;
  std::size_t field_ = 0;
};

}  // namespace detail
}  // namespace prdist
