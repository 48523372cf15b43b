// SPDX-License-Identifier: Apache-2.0
// What must not be repeated: values of variables that sound like secrets, and lines of a file that hold one. Names are
// all there is to go by; a line too many that is not shown costs little, for its place is named anyhow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnostic.hpp"
#include "node.hpp"
#include "source.hpp"

namespace prdist::gen {

/// Whether a variable or key of this name usually holds a secret. Case does not count.
[[nodiscard]] bool sounds_secret(std::string_view name);

/// Whether a variable's value is one: by its name, or because it is an address with a password in it.
[[nodiscard]] bool holds_secret(std::string_view name, std::string_view value);

/// Whether `word` of a command holds a secret, or announces one in the word behind it: --password=x, --sk x,
/// PASSWORD=x, an address with a password. $(NAME) is a variable's, not a secret.
[[nodiscard]] bool secret_word(std::string_view word, std::string_view next);

/// A key of a file that is not ours and its value, where the value looks like a secret: one that would be published
/// with the file. `vocabulary` tells words such as pad_token, which models have for other reasons.
struct FoundSecret {
  Where where{};
  std::string name{};
  bool vocabulary = false;
};
[[nodiscard]] std::vector<FoundSecret> find_secrets(Node const& document);

/// Whether the line of `where` holds a secret, belongs to a key above it whose value is one, or names an anchor that
/// such a line names, too. Works on the text alone, so that lines of a file that is not YAML are kept back, too.
[[nodiscard]] bool secret_line(Where const& where);

/// Keeps values that an anchor ties to a secret key out of all that `diagnostics` says from now on: they may stand at
/// other keys as well, whose faults are told with the value.
void hide_shared_secrets(Node const& document, Diagnostics& diagnostics);

}  // namespace prdist::gen
