// SPDX-License-Identifier: Apache-2.0
// Bytes of a channel as lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>

namespace prdist {

class LineBuffer {
 public:
  static constexpr std::size_t longest = 16 << 20;

  /// Takes more bytes. @throws Error wire.too_large when 16 MiB hold no end of a line
  void put(std::string_view bytes) {
    bytes_.append(bytes);
    if (bytes_.size() - begin_ > longest && bytes_.find('\n', begin_) == std::string::npos) {
      throw Error(Errc::wire_too_large, "ssh: more than 16 MiB came without an end of line",
                  ": the other side is no prrun agent");
    }
  }

  /// The next whole line, without its end.
  [[nodiscard]] std::optional<std::string> next() {
    auto const end = bytes_.find('\n', begin_);
    if (end == std::string::npos) {
      bytes_.erase(0, begin_);
      begin_ = 0;
      return std::nullopt;
    }
    auto line = bytes_.substr(begin_, end - begin_);
    begin_ = end + 1;
    return line;
  }

  /// Up to `most` bytes as they came, whether or not they are lines.
  [[nodiscard]] std::string take(std::size_t most) {
    auto bytes = bytes_.substr(begin_, most);
    begin_ += bytes.size();
    if (begin_ == bytes_.size()) {
      bytes_.clear();
      begin_ = 0;
    }
    return bytes;
  }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace prdist
