// SPDX-License-Identifier: Apache-2.0
// What several commands of prckpt need: which checkpoint is meant, and what is shown of it.
#pragma once

#include <cstdint>
#include <string>

#include <prdist/checkpoint/directory.hpp>

namespace prckpt {

[[nodiscard]] std::string utc_now();
[[nodiscard]] std::string mebibytes(std::uint64_t bytes);

/// Whether the folder is one checkpoint, and not a folder of them.
[[nodiscard]] bool is_pass(std::string const& path);

/// A folder that must be there. @throws prdist::Error
[[nodiscard]] std::string const& folder(std::string const& path);

/// `path` itself, or the newest in it. @throws prdist::Error
[[nodiscard]] prdist::Checkpoint chosen(std::string const& path);

/// One checkpoint as a line.
[[nodiscard]] std::string summary(prdist::Checkpoint const& checkpoint);

void say(std::string const& line);

/// A line that is drawn again and again, on terminals only.
class Shown {
 public:
  ~Shown();
  void operator()(std::string const& what, std::uint64_t rows);

 private:
  bool drawn_ = false;
};

}  // namespace prckpt
