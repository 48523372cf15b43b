// SPDX-License-Identifier: Apache-2.0
// What nodes need of the place where they meet: keys that change only for who has seen their last version, and leases
// that take a node's own key away when nobody hears from it any more. There is no call that deletes: nobody can take
// away what another one has written.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <prdist/core/error.hpp>

namespace prdist {

struct StoreEntry {
  std::string key;
  std::string value;
  std::uint64_t version = 0;  ///< of this value: another one after every change, never 0

  friend bool operator==(StoreEntry const&, StoreEntry const&) = default;
};

/// 0 is no lease: the key stays.
using Lease = std::uint64_t;

/// Every call blocks for a bounded time and is made by one thread. transport.* is what may pass: whether a change was
/// made is then unknown, and list() tells.
class Store {
 public:
  Store() = default;
  Store(Store const&) = delete;
  Store& operator=(Store const&) = delete;
  virtual ~Store() = default;

  /// All keys that begin with `prefix`, by key, as they were at one moment.
  [[nodiscard]] virtual Result<std::vector<StoreEntry>> list(std::string const& prefix) = 0;

  /// Writes the value if the key still has this version, 0 meaning that it does not exist; false if it has another.
  /// With a lease the key goes when the lease does. job.stale for a lease that has ended.
  [[nodiscard]] virtual Result<bool> put_if(std::string const& key, std::string const& value, std::uint64_t version,
                                            Lease lease) = 0;

  /// A lease that ends when it is not kept alive for that long.
  [[nodiscard]] virtual Result<Lease> grant(std::chrono::seconds time) = 0;

  /// False when the lease has ended.
  [[nodiscard]] virtual Result<bool> keep_alive(Lease lease) = 0;

  /// Ends a lease at once, and with it the keys that hang on it.
  [[nodiscard]] virtual Result<void> revoke(Lease lease) = 0;
};

}  // namespace prdist
