// SPDX-License-Identifier: Apache-2.0
// Where keys and dense ranges live: on a fixed number of logical shards, and those on servers by a small table with
// an epoch. Nothing else in the library knows how many servers there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

inline constexpr unsigned shard_bits = 8;
inline constexpr std::size_t shard_count = std::size_t{1} << shard_bits;

/// Floats of one dense range: 64 KiB, the block over which the wire takes a checksum.
inline constexpr std::size_t range_floats = 16 * 1024;

[[nodiscard]] constexpr std::size_t shard_of(std::uint64_t hash) noexcept {
  return hash >> (64 - shard_bits);
}

/// Neighbouring ranges lie on neighbouring shards, which lie on different servers: a dense table is spread evenly
/// however few ranges it has. `table` is hash_name() of its name.
[[nodiscard]] constexpr std::size_t shard_of_range(std::uint64_t table, std::size_t range) noexcept {
  return (table + range) % shard_count;
}

[[nodiscard]] constexpr std::size_t range_count(std::size_t floats) noexcept {
  return (floats + range_floats - 1) / range_floats;
}

/// Length of a range; only the last may be short.
[[nodiscard]] constexpr std::size_t range_length(std::size_t floats, std::size_t range) noexcept {
  auto const start = range * range_floats;
  return floats - start < range_floats ? floats - start : range_floats;
}

class Placement {
 public:
  /// All shards dealt out in turn. @throws Error config.invalid when there are no servers, or more than shards.
  explicit Placement(std::size_t servers, std::uint32_t epoch = 1) : epoch_(epoch), owner_(shard_count) {
    if (servers == 0 || servers > shard_count) {
      throw Error(Errc::config_invalid, servers, " servers: a job has between 1 and ", shard_count);
    }
    for (std::size_t shard = 0; shard < shard_count; ++shard) {
      owner_[shard] = static_cast<std::uint32_t>(shard % servers);
    }
    servers_ = servers;
  }

  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::size_t servers() const noexcept { return servers_; }
  [[nodiscard]] std::uint32_t server_of_shard(std::size_t shard) const noexcept { return owner_[shard]; }

  /// The ranges of a dense table that one server holds, in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> ranges_of(std::uint64_t table, std::size_t floats,
                                                     std::size_t server) const {
    std::vector<std::uint32_t> ranges;
    for (std::size_t range = 0; range < range_count(floats); ++range) {
      if (owner_[shard_of_range(table, range)] == server) ranges.push_back(static_cast<std::uint32_t>(range));
    }
    return ranges;
  }

 private:
  std::uint32_t epoch_;
  std::size_t servers_ = 0;
  std::vector<std::uint32_t> owner_;
};

}  // namespace prdist
