// SPDX-License-Identifier: Apache-2.0
// The text of an input file and places in it. A Where is small enough to travel with every value that was read, so
// that a check far behind the parser can still point at the character it speaks of.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace prdist::gen {

/// A file as it was read. `name` is what messages call it: the path as the user wrote it, or `<stdin>`.
struct Source {
  std::string name;
  std::string text;

  /// Line `number`, counted from 1, without its end; empty when there is none.
  [[nodiscard]] std::string_view line(std::size_t number) const;
};

using SourcePtr = std::shared_ptr<Source const>;

/// A place in a source. `line` 0 means the file as a whole, no `source` means the command line.
struct Where {
  SourcePtr source{};
  std::size_t line = 0;
  std::size_t column = 0;  ///< in bytes, from 1
  std::size_t length = 1;  ///< in bytes, for underlining
  std::string path{};      ///< of the key, for example submit.memory
};

/// `where` with another path: for keys that are missing inside it.
[[nodiscard]] inline Where at(Where where, std::string path) {
  where.path = std::move(path);
  return where;
}

/// The byte at which `text` stops being UTF-8 without NUL, or npos.
[[nodiscard]] std::size_t first_bad_utf8(std::string_view text);

/// The source line of `where` and a second line that underlines it; empty when there is no line to show.
[[nodiscard]] std::string snippet(Where const& where);

}  // namespace prdist::gen
