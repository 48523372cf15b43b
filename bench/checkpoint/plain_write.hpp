// SPDX-License-Identifier: Apache-2.0
// The least that a checkpoint can cost: its bytes, written one after another until they are on the disk.
#pragma once

#include <prdist/core/descriptor.hpp>
#include <prdist/core/types.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support.hpp"

namespace bench {

/// Writes `pieces` in turn until the file has `bytes`.
inline void plain_write(std::string const& path, std::vector<prdist::ConstBytes> const& pieces, std::size_t bytes) {
  prdist::Descriptor const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  bool fine = static_cast<bool>(file);
  for (std::size_t i = 0; fine && bytes > 0; ++i) {
    auto rest = pieces[i % pieces.size()];
    rest = rest.first(std::min(rest.size(), bytes));
    while (fine && !rest.empty()) {
      auto const written = ::write(file.get(), rest.data(), rest.size());
      fine = written > 0;
      if (!fine) break;
      rest = rest.subspan(static_cast<std::size_t>(written));
      bytes -= static_cast<std::size_t>(written);
    }
  }
  verify(fine && ::fsync(file.get()) == 0, "the plain file could not be written");
}

/// A folder on the disk that will hold checkpoints, by TMPDIR when it is not the one of temporary files.
class DiskFolder {
 public:
  DiskFolder() : path_((std::filesystem::temp_directory_path() / "prbench-XXXXXX").native()) {
    verify(::mkdtemp(path_.data()) != nullptr, "no temporary folder");
  }
  DiskFolder(DiskFolder const&) = delete;
  DiskFolder& operator=(DiskFolder const&) = delete;
  ~DiskFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_;
};

/// The seconds that `work` takes. It begins without what it writes at `path`: freeing that is nobody's work.
template <class Work>
[[nodiscard]] double seconds_on_disk(std::string const& path, Work&& work) {
  std::filesystem::remove_all(path);
  ::sync();
  auto const start = ankerl::nanobench::Clock::now();
  work();
  auto const end = ankerl::nanobench::Clock::now();
  std::filesystem::remove_all(path);
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace bench
