// SPDX-License-Identifier: Apache-2.0
// Files as a tar stream (POSIX ustar, pax for long names and large files), made piece by piece while it is sent, so
// that nothing is stored and whoever sends it knows how far it is.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/ssh/package.hpp>

namespace prdist {

class TarStream {
 public:
  explicit TarStream(std::vector<PackageEntry> entries) : entries_(std::move(entries)) {
    for (auto const& entry : entries_) {
      struct stat status {};
      if (status_of(entry, status) && S_ISREG(status.st_mode)) total_ += static_cast<std::uint64_t>(status.st_size);
    }
  }

  /// Bytes of all files, as they were when the stream was made.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  /// The next piece, of at most some 64 KiB; empty at the end. @throws Error data.file for what cannot be read
  [[nodiscard]] std::string next() {
    if (file_) return piece();
    if (at_ < entries_.size()) return begin(entries_[at_++]);
    if (std::exchange(closed_, true)) return {};
    return std::string(2 * block, '\0');  // two empty blocks end an archive
  }

 private:
  static constexpr std::size_t block = 512;

  [[nodiscard]] static bool status_of(PackageEntry const& entry, struct stat& status) {
    return (entry.follow ? ::stat : ::lstat)(entry.source.c_str(), &status) == 0;
  }

  [[nodiscard]] static Error unreadable(PackageEntry const& entry) {
    return {Errc::data_file,
            "ssh: '",
            entry.source.string(),
            "' cannot be copied, ",
            std::generic_category().message(errno),
            ": check its permissions, or take it out of the package"};
  }

  [[nodiscard]] static std::string padding(std::uint64_t size) {
    return std::string(static_cast<std::size_t>((block - size % block) % block), '\0');
  }

  /// A header block; names that do not fit stand in a pax record in front, and are cut here.
  [[nodiscard]] static std::string header(std::string_view name, char type, std::uint64_t size, unsigned mode,
                                          long long time, std::string_view link) {
    std::array<char, block> bytes{};
    auto const put = [&](std::size_t at, std::size_t length, std::string_view text) {
      std::memcpy(bytes.data() + at, text.data(), std::min(length, text.size()));
    };
    auto const octal = [&](std::size_t at, std::size_t length, unsigned long long value) {
      char text[32];
      std::snprintf(text, sizeof text, "%0*llo", static_cast<int>(length - 1), value);
      put(at, length - 1, text);
    };
    put(0, 100, name);
    octal(100, 8, mode & 07777U);
    octal(108, 8, 0);
    octal(116, 8, 0);
    octal(124, 12, size < (1ULL << 33U) ? size : 0);
    octal(136, 12, static_cast<unsigned long long>(std::max(0LL, time)) & 077777777777ULL);
    put(148, 8, "        ");
    bytes[156] = type;
    put(157, 100, link);
    put(257, 8, std::string_view("ustar\00000", 8));
    unsigned sum = 0;
    for (char const c : bytes) sum += static_cast<unsigned char>(c);
    octal(148, 7, sum);
    bytes[154] = '\0';
    return {bytes.data(), bytes.size()};
  }

  /// "LENGTH key=value\n", where the length counts itself.
  [[nodiscard]] static std::string record(std::string_view key, std::string_view value) {
    auto const rest = key.size() + value.size() + 3;
    auto length = rest + 1;
    while (concat(length).size() + rest != length) length = concat(length).size() + rest;
    return concat(length, ' ', key, '=', value, '\n');
  }

  [[nodiscard]] std::string begin(PackageEntry const& entry) {
    struct stat status {};
    if (!status_of(entry, status)) throw unreadable(entry);
    bool const folder = S_ISDIR(status.st_mode);
    bool const link = S_ISLNK(status.st_mode);
    auto const name = folder ? entry.name + '/' : entry.name;
    std::string target;
    if (link) target = std::filesystem::read_symlink(entry.source).string();
    std::uint64_t const size = folder || link ? 0 : static_cast<std::uint64_t>(status.st_size);
    std::string extra;
    if (name.size() > 100) extra += record("path", name);
    if (target.size() > 100) extra += record("linkpath", target);
    if (size >= (1ULL << 33U)) extra += record("size", concat(size));
    std::string bytes;
    if (!extra.empty()) {
      bytes = header("././@PaxHeader", 'x', extra.size(), 0644, 0, "") + extra + padding(extra.size());
    }
    bytes += header(name, folder ? '5' : link ? '2' : '0', size, status.st_mode, status.st_mtime, target);
    if (folder || link) return bytes;
    file_ = Descriptor(::open(entry.source.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_) throw unreadable(entry);
    left_ = size;
    size_ = size;
    if (left_ == 0) file_.reset();
    return bytes;
  }

  [[nodiscard]] std::string piece() {
    std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(left_, 64 << 10)), '\0');
    auto const got = ::read(file_.get(), bytes.data(), bytes.size());
    if (got <= 0) {
      // The header has promised a size, so a file that shrinks meanwhile cannot be sent as something else.
      if (got == 0) errno = ESTALE;
      throw unreadable(entries_[at_ - 1]);
    }
    bytes.resize(static_cast<std::size_t>(got));
    left_ -= static_cast<std::uint64_t>(got);
    if (left_ == 0) {
      file_.reset();
      bytes += padding(size_);
    }
    return bytes;
  }

  std::vector<PackageEntry> entries_;
  std::size_t at_ = 0;
  Descriptor file_;
  std::uint64_t left_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t total_ = 0;
  bool closed_ = false;
};

}  // namespace prdist
