// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <algorithm>

#include "key_rows.hpp"

namespace prdist::gen {

namespace {

std::vector<Key> const& table() {
  static std::vector<Key> const all = [] {
    std::vector<Key> keys;
    for (auto const& topics : {job_keys(), target_keys()}) {
      for (auto const& topic : topics) {
        for (auto key : topic.keys) {
          key.topic = topic.name;
          keys.push_back(key);
        }
      }
    }
    return keys;
  }();
  return all;
}

}  // namespace

bool Key::is_for(std::string_view target) const {
  auto const all = words(targets);
  return all.empty() || std::find(all.begin(), all.end(), target) != all.end();
}

std::span<Key const> keys() {
  return table();
}

Key const* find_key(std::string_view path) {
  for (auto const& key : table()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    auto const end = text.find(' ');
    if (end != 0) out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace prdist::gen
