// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree that remembers where each value stood and whether it was quoted. yaml-cpp's own nodes lose
// the marks of keys, keep the first of two equal keys where others keep the last, and share what aliases name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source.hpp"

namespace prdist::gen {

struct Entry;

struct Node {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  bool quoted = false;  ///< of a scalar: written in quotes or as a block, thus a string whatever it looks like
  bool shared = false;  ///< has an anchor or came by an alias, or stands below such a value
  std::string text{};   ///< of a scalar
  std::vector<Node> items{};
  std::vector<Entry> entries;  // no {}: Entry is not complete here
  Where where{};

  /// The value of `key` in a map, or nullptr.
  [[nodiscard]] Node const* find(std::string_view key) const;
};

struct Entry {
  Node key;
  Node value;
};

inline Node const* Node::find(std::string_view key) const {
  for (auto const& entry : entries) {
    if (entry.key.text == key) return &entry.value;
  }
  return nullptr;
}

/// "a map", "a list", "a value" or "nothing", for messages.
[[nodiscard]] inline std::string_view kind_name(Node const& node) {
  switch (node.kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::scalar: return "a value";
    case Node::Kind::sequence: return "a list";
    case Node::Kind::map: return "a map";
  }
  return "nothing";
}

}  // namespace prdist::gen
