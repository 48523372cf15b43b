// SPDX-License-Identifier: Apache-2.0
// A store in memory. Time comes in as an argument, so that leases end when a test says so; it is bounded, because
// whoever reaches the port of the first node can write to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/launch/rendezvous/store.hpp>

namespace prdist {

/// The keys and leases themselves. Not for two threads at once.
class MemoryKeys {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t most_keys = 16'384;
  static constexpr std::size_t most_leases = 16'384;
  static constexpr std::size_t most_bytes = 4 << 20;  ///< of one value

  [[nodiscard]] std::vector<StoreEntry> list(std::string const& prefix, TimePoint now) {
    expire(now);
    std::vector<StoreEntry> found;
    for (auto it = keys_.lower_bound(prefix); it != keys_.end() && it->first.starts_with(prefix); ++it) {
      found.push_back({it->first, it->second.value, it->second.version});
    }
    return found;
  }

  [[nodiscard]] Result<bool> put_if(std::string const& key, std::string const& value, std::uint64_t expected,
                                    Lease lease, TimePoint now) {
    expire(now);
    auto const found = keys_.find(key);
    if (expected != (found == keys_.end() ? 0 : found->second.version)) return false;
    if (lease != 0 && !leases_.contains(lease)) return Error(Errc::job_stale, "store: lease ", lease, " has ended");
    if (value.size() > most_bytes || (found == keys_.end() && keys_.size() >= most_keys)) {
      return Error(Errc::wire_too_large, "store: it holds ", most_keys, " keys of ", most_bytes, " bytes at most");
    }
    keys_[key] = {value, ++revision_, lease};
    return true;
  }

  [[nodiscard]] Result<Lease> grant(std::chrono::seconds time, TimePoint now) {
    expire(now);
    if (leases_.size() >= most_leases)
      return Error(Errc::wire_too_large, "store: it holds ", most_leases, " leases at most");
    leases_[++last_lease_] = {now + time, time};
    return last_lease_;
  }

  [[nodiscard]] bool keep_alive(Lease lease, TimePoint now) {
    expire(now);
    auto const found = leases_.find(lease);
    if (found == leases_.end()) return false;
    found->second.end = now + found->second.time;
    return true;
  }

  void revoke(Lease lease) {
    if (leases_.erase(lease) == 0) return;
    std::erase_if(keys_, [&](auto const& each) { return each.second.lease == lease; });
  }

 private:
  struct Value {
    std::string value;
    std::uint64_t version = 0;
    Lease lease = 0;
  };
  struct Term {
    TimePoint end;
    std::chrono::seconds time{};
  };

  void expire(TimePoint now) {
    for (auto it = leases_.begin(); it != leases_.end();) {
      auto const lease = it->first;
      bool const over = it->second.end <= now;
      ++it;
      if (over) revoke(lease);
    }
  }

  std::map<std::string, Value> keys_;
  std::map<Lease, Term> leases_;
  std::uint64_t revision_ = 0;
  Lease last_lease_ = 0;
};

/// One node's way to such keys, by a clock that the owner moves.
class MemoryStore : public Store {
 public:
  MemoryStore(MemoryKeys& keys, MemoryKeys::TimePoint const& now) : keys_(keys), now_(now) {}

  [[nodiscard]] Result<std::vector<StoreEntry>> list(std::string const& prefix) override {
    return keys_.list(prefix, now_);
  }
  [[nodiscard]] Result<bool> put_if(std::string const& key, std::string const& value, std::uint64_t expected,
                                    Lease lease) override {
    return keys_.put_if(key, value, expected, lease, now_);
  }
  [[nodiscard]] Result<Lease> grant(std::chrono::seconds time) override { return keys_.grant(time, now_); }
  [[nodiscard]] Result<bool> keep_alive(Lease lease) override { return keys_.keep_alive(lease, now_); }
  [[nodiscard]] Result<void> revoke(Lease lease) override {
    keys_.revoke(lease);
    return {};
  }

 private:
  MemoryKeys& keys_;
  MemoryKeys::TimePoint const& now_;
};

}  // namespace prdist
