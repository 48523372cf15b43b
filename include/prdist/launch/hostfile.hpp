// SPDX-License-Identifier: Apache-2.0
// The text of a file that names hosts. A pipe that the shell has put in its place (<(...)) is read as well; a FIFO of
// somebody's, which may stay silent for ever, is not.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/core/regular_file.hpp>

namespace prdist {

/// `who` stands before the text of an error. @throws Error config.missing
[[nodiscard]] inline std::string hostfile_text(std::string_view who, std::filesystem::path const& file) {
  struct stat status {};
  bool const there = ::stat(file.c_str(), &status) == 0;
  bool const of_the_shell = file.native().starts_with("/dev/fd/") || file.native().starts_with("/proc/self/fd/");
  if (there && !S_ISREG(status.st_mode) && !of_the_shell) {
    throw Error(Errc::config_missing, who, ": the hostfile '", file.string(), "' is ", kind_of_file(status.st_mode),
                " and not a file: check --hostfile");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw Error(Errc::config_missing, who, ": the hostfile '", file.string(), "' cannot be read: check --hostfile");
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace prdist
