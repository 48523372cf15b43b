// SPDX-License-Identifier: Apache-2.0
// Arrays as NumPy's .npy files: what a trained model is looked at with. numpy.load() reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

/// What stands before the values of an array of this shape: 128 bytes for one or two dimensions, however long they are.
template <class Value>
[[nodiscard]] std::string npy_header(std::span<std::size_t const> shape) {
  static_assert(std::is_same_v<Value, float> || std::is_same_v<Value, std::uint64_t>,
                "prdist::npy_header: floats and keys");
  std::string sizes;
  for (auto const size : shape) sizes += concat(size, ", ");
  auto text = concat("{'descr': '", std::is_same_v<Value, float> ? "<f4" : "<u8",
                     "', 'fortran_order': False, 'shape': (", sizes, "), }");
  // The data begins at a multiple of 64 bytes, behind magic, version and the text's length; the second one at least,
  // so that a length that is known later can be filled in.
  constexpr std::size_t before = 10, least = 128;
  auto const size = std::max(least, (before + text.size() + 1 + 63) / 64 * 64) - before;
  text.append(size - 1 - text.size(), ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

/// Writes `values` as an array of this shape, under a temporary name that becomes `path` when all is written.
/// @throws Error data.file
template <class Value>
void write_npy(std::string const& path, std::span<Value const> values, std::vector<std::size_t> const& shape) {
  auto const header = npy_header<Value>(shape);
  auto const temporary = path + ".tmp";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "wb"), &std::fclose);
  bool fine = file != nullptr && std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
              std::fwrite(values.data(), sizeof(Value), values.size(), file.get()) == values.size();
  if (file) fine = std::fclose(file.release()) == 0 && fine;
  std::error_code error;
  if (fine) std::filesystem::rename(temporary, path, error);
  if (!fine || error) {
    throw Error(Errc::data_file, "cannot write ", path, ": is the disk full, or the folder not writable?");
  }
}

}  // namespace prdist
