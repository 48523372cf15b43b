// SPDX-License-Identifier: Apache-2.0
// The proof that no value changes the structure of a YAML text. While a template is rendered, every value it writes
// stands between marks; afterwards the text exists twice, with the values and with a token of ours in place of each.
// Only when both are read as the same tree, tokens put back, is there a text at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node.hpp"
#include "plain_yaml.hpp"

namespace prdist::gen {

class Marks {
 public:
  /// `written`, which stands for `value`, between marks.
  [[nodiscard]] std::string around(std::string const& value, std::string_view written);

  /// `rendered` without marks, proved; `name` is its template. @throws TemplateError
  [[nodiscard]] std::string proved(std::string const& name, std::string_view rendered) const;

  /// Where the first mark stands in a text, or npos. Templates must not bring any.
  [[nodiscard]] static std::size_t first_in(std::string_view text);

 private:
  std::vector<std::string> values_;  // by the number in their marks
};

/// The documents that the template `name` wrote, read by yaml-cpp. @throws TemplateError when they are not YAML
[[nodiscard]] std::vector<Node> parsed_back(std::string const& name, std::string const& text);

/// Appends the tokens of a tree, as read_plain_yaml gives them.
void flatten(Node const& node, std::vector<YamlToken>& out);

}  // namespace prdist::gen
