// SPDX-License-Identifier: Apache-2.0
// A reader of the small part of YAML that templates write and on which all readers agree: block maps and lists, strings
// in double quotes, bare words, literal blocks. It knows nothing of the functions that write, so that it can check
// them, and costs a fraction of a whole YAML parser. What it does not take may well be YAML: ask yaml_reader.hpp then.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prdist::gen {

/// A step through the tree of a YAML text. A map is followed by its keys and values in turn, and by `end`.
struct YamlToken {
  enum class Kind { document, map, list, end, word, string };

  Kind kind = Kind::document;
  std::string text{};  ///< of a word and of a string

  bool operator==(YamlToken const&) const = default;
};

/// The tokens of all documents; nothing when the text has anything but the forms above, or a key twice in a map.
[[nodiscard]] std::optional<std::vector<YamlToken>> read_plain_yaml(std::string_view text);

}  // namespace prdist::gen
