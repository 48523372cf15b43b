// SPDX-License-Identifier: Apache-2.0
// Several ports of one server, as Paddle v2 has them: first those for dense parameters and everything else, then those
// for rows of sparse ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <prdist/core/text.hpp>

namespace prdist {

struct PortLayout {
  std::uint32_t dense = 1;
  std::uint32_t sparse = 0;

  friend bool operator==(PortLayout const&, PortLayout const&) = default;

  [[nodiscard]] constexpr std::uint32_t total() const noexcept { return dense + sparse; }
  [[nodiscard]] constexpr bool is_sparse(std::uint32_t port) const noexcept { return port >= dense; }

  /// The port of table `table` of its kind. All of a table goes to one port: what a trainer sends about it arrives in
  /// order. Without ports of their own, rows go where everything else goes.
  [[nodiscard]] constexpr std::uint32_t of_dense(std::size_t table) const noexcept {
    return static_cast<std::uint32_t>(table % dense);
  }
  [[nodiscard]] constexpr std::uint32_t of_sparse(std::size_t table) const noexcept {
    return sparse == 0 ? of_dense(table) : dense + static_cast<std::uint32_t>(table % sparse);
  }
};

/// `2 dense and 1 sparse ports`
[[nodiscard]] inline std::string to_string(PortLayout const& ports) {
  return concat(ports.dense, " dense and ", ports.sparse, " sparse ports");
}

}  // namespace prdist
