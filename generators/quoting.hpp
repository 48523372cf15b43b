// SPDX-License-Identifier: Apache-2.0
// How a string of the user's gets into an output: one function per syntax, and templates reach strings by no other way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prdist::gen {

/// A double-quoted YAML scalar on one line. Escapes are those that every YAML reader knows alike; NEL, DEL, C1
/// controls, line separators and the byte order mark are escaped because some readers fold or refuse them raw.
/// @throws Error config.invalid for NUL and for what is not UTF-8: no reader would give it back.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

/// A literal block (`|` and indented lines) where that gives every byte back, which people read more easily; a quoted
/// scalar otherwise. `indent` is that of the lines.
[[nodiscard]] std::string yaml_block(std::string_view text, std::size_t indent);

/// One word of a POSIX shell, in single quotes unless it needs none. @throws Error config.invalid for NUL.
[[nodiscard]] std::string shell_quoted(std::string_view text);

/// The same for a word of a command as Kubernetes reads it: $(NAME) is the variable's value where it has one, and $$ is
/// one $. @throws Error config.invalid for NUL.
[[nodiscard]] std::string shell_expanded(std::string_view text);

/// A value of an INI file, which has no escapes. @throws Error config.invalid for line breaks, controls and quotes.
[[nodiscard]] std::string ini_value(std::string_view text);

/// A word of a line-based file such as a hostfile. @throws Error config.invalid for blanks, '#' and controls.
[[nodiscard]] std::string plain_word(std::string_view text);

}  // namespace prdist::gen
