// SPDX-License-Identifier: Apache-2.0
// The store that the first node of a job runs: keys in memory behind a port, asked in the words of etcd v3's JSON
// gateway. It runs on a thread of its own, not in a child: the supervisor reaps and ends every child.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <prdist/launch/ports.hpp>
#include <prdist/launch/rendezvous/memory_store.hpp>

#include "http_answer.hpp"

namespace prrun {

/// Keys for the thread of the server and for the node beside it.
struct SharedKeys {
  std::mutex mutex;
  prdist::MemoryKeys keys;
};

/// What the server answers to a POST; 400 for a body that it does not understand, 404 for another target.
[[nodiscard]] HttpAnswer answer_to(SharedKeys& shared, std::string_view target, std::string_view body,
                                   prdist::MemoryKeys::TimePoint now);

class StoreServer {
 public:
  /// Takes over a listening socket. @throws what std::thread throws
  explicit StoreServer(prdist::Descriptor listening);
  ~StoreServer();
  StoreServer(StoreServer const&) = delete;
  StoreServer& operator=(StoreServer const&) = delete;

  /// The way of the node that runs the server: the same keys, without a connection.
  [[nodiscard]] std::unique_ptr<prdist::Store> store() const;

 private:
  struct Work;
  std::shared_ptr<SharedKeys> shared_;
  std::unique_ptr<Work> work_;
};

}  // namespace prrun
