// SPDX-License-Identifier: Apache-2.0
// Opens what must be a file: a FIFO, a device, a socket or a folder in its place is an error that says so, and none of
// them keeps the caller waiting.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

/// What `mode` of a struct stat says, for people: "a FIFO".
[[nodiscard]] constexpr std::string_view kind_of_file(mode_t mode) noexcept {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

struct OpenFile {
  Descriptor descriptor{};
  std::uint64_t size = 0;
};

/// Opens `path` for reading, when it is a file. Errors have the code `code`; `next` is what to do when the system
/// refuses. Never waits for a peer.
[[nodiscard]] inline Result<OpenFile> open_regular(Errc code, std::string const& path, std::string_view next) {
  // Without O_NONBLOCK a FIFO would keep the call until somebody writes. It means nothing to a file.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  auto const reason = errno;
  struct stat status {};
  // A socket cannot be opened at all; its name still tells what it is.
  bool const known = file ? ::fstat(file.get(), &status) == 0 : ::stat(path.c_str(), &status) == 0;
  if (known && !S_ISREG(status.st_mode)) {
    return Error(code, path, ", is ", kind_of_file(status.st_mode), " and not a file: check the path");
  }
  if (!file || !known) {
    return Error(code, path, ", cannot be opened, ", std::generic_category().message(file ? errno : reason), ": ",
                 next);
  }
  return OpenFile{std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

}  // namespace prdist
