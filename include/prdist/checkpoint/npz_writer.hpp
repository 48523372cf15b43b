// SPDX-License-Identifier: Apache-2.0
// Named arrays in one .npz, which numpy.load() reads. Arrays come in pieces and need not fit into memory; how many rows
// one has need not be known before its last.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/checkpoint/files.hpp>
#include <prdist/checkpoint/temporary.hpp>
#include <prdist/checkpoint/zip_writer.hpp>
#include <prdist/core/error.hpp>
#include <prdist/data/npy.hpp>

namespace prdist {

class NpzWriter {
 public:
  /// Writes a file beside `path`, which close() renames. @throws Error checkpoint.file, also when `path` is there and
  /// is no file
  explicit NpzWriter(std::string path) : path_(checked(std::move(path))), zip_(unfinished_) {}
  NpzWriter(NpzWriter const&) = delete;
  NpzWriter& operator=(NpzWriter const&) = delete;
  /// Without close() nothing stays.
  ~NpzWriter() {
    if (!closed_) ::unlink(unfinished_.c_str());
  }

  /// A whole array. @throws Error checkpoint.file
  template <class Value>
  void add(std::string_view name, std::span<Value const> values, std::vector<std::size_t> const& shape) {
    auto const header = npy_header<Value>(shape);
    zip_.begin(concat(name, ".npy"), header.size());
    zip_.write(std::as_bytes(values));
    zip_.end(header);
  }

  /// Begins an array of rows of `columns` values, or of single values when that is 0. write() appends whole rows,
  /// end() closes it. @throws Error checkpoint.file
  template <class Value>
  void begin(std::string_view name, std::size_t columns = 0) {
    columns_ = columns;
    count_ = 0;
    zip_.begin(concat(name, ".npy"), header<Value>().size());
  }
  template <class Value>
  void write(std::span<Value const> values) {
    zip_.write(std::as_bytes(values));
    count_ += values.size();
  }
  template <class Value>
  void end() {
    zip_.end(header<Value>());
  }

  /// On the disk, under its name, when it returns. @throws Error checkpoint.file
  void close() {
    zip_.close();
    detail::check_replaceable(path_);
    publish(unfinished_, path_);
    closed_ = true;
  }

 private:
  static std::string checked(std::string path) {
    detail::check_replaceable(path);
    return path;
  }

  template <class Value>
  [[nodiscard]] std::string header() const {
    std::vector<std::size_t> shape{columns_ == 0 ? count_ : count_ / columns_};
    if (columns_ > 0) shape.push_back(columns_);
    return npy_header<Value>(shape);
  }

  std::string path_;
  std::string unfinished_ = detail::make_file_beside(path_);
  ZipWriter zip_;
  std::size_t columns_ = 0, count_ = 0;
  bool closed_ = false;
};

}  // namespace prdist
