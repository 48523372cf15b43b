// SPDX-License-Identifier: Apache-2.0
// Arrays as NumPy's .npy files: what a trained model is looked at with. numpy.load() reads them.
#pragma once

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

/// Writes `values` as an array of this shape, under a temporary name that becomes `path` when all is written.
/// @throws Error data.file
template <class Value>
void write_npy(std::string const& path, std::span<Value const> values, std::vector<std::size_t> const& shape) {
  static_assert(std::is_same_v<Value, float> || std::is_same_v<Value, std::uint64_t>,
                "prdist::write_npy: floats and keys");
  std::string sizes;
  for (auto const size : shape) sizes += concat(size, ", ");
  auto header = concat("{'descr': '", std::is_same_v<Value, float> ? "<f4" : "<u8",
                       "', 'fortran_order': False, 'shape': (", sizes, "), }");
  // The data begins at a multiple of 64 bytes, behind magic, version and the header's length.
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  auto const length = static_cast<std::uint16_t>(header.size());
  auto const temporary = path + ".tmp";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "wb"), &std::fclose);
  bool fine = file != nullptr && std::fwrite("\x93NUMPY\x01\x00", 1, 8, file.get()) == 8 &&
              std::fwrite(&length, 1, 2, file.get()) == 2 &&
              std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
              std::fwrite(values.data(), sizeof(Value), values.size(), file.get()) == values.size();
  if (file) fine = std::fclose(file.release()) == 0 && fine;
  std::error_code error;
  if (fine) std::filesystem::rename(temporary, path, error);
  if (!fine || error) {
    throw Error(Errc::data_file, "cannot write ", path, ": is the disk full, or the folder not writable?");
  }
}

}  // namespace prdist
