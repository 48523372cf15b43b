// SPDX-License-Identifier: Apache-2.0
// A text file that grows piece by piece, packed when its name ends in .gz. It is open only while a piece is written:
// a table of a thousand files needs no thousand descriptors, and no thousand compressors.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/checkpoint/files.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

/// `text` as one gzip member; members may stand one behind another in a file. @throws Error internal.error
[[nodiscard]] inline std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error(Errc::internal, "zlib cannot begin to compress: is there memory left?");
  }
  std::string packed(::deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  // zlib does not write through next_in.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  auto const finished = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (!finished) throw Error(Errc::internal, "zlib did not compress ", text.size(), " bytes in one piece");
  return packed;
}

class TextWriter {
 public:
  /// Makes the file, or empties it. @throws Error checkpoint.file
  explicit TextWriter(std::string path) : path_(std::move(path)) { OutputFile const empty(path_); }

  /// Appends `text`; it reaches the file when 64 KiB have come together. @throws Error checkpoint.file
  void write(std::string_view text) {
    pending_ += text;
    if (pending_.size() < piece) return;
    auto file = OutputFile::append_to(path_);
    flush(file);
  }

  /// Writes the rest and waits until all of it is on the disk. @throws Error checkpoint.file
  void close() {
    auto file = OutputFile::append_to(path_);
    if (!pending_.empty() || !written_) flush(file);
    file.close();
  }

 private:
  static constexpr std::size_t piece = 64 * 1024;

  void flush(OutputFile& file) {
    file.write(detail::bytes_of_text(path_.ends_with(".gz") ? gzip(pending_) : pending_));
    pending_.clear();
    written_ = true;
  }

  std::string path_;
  std::string pending_;
  bool written_ = false;
};

}  // namespace prdist
