// SPDX-License-Identifier: Apache-2.0
// A store that is asked over HTTP, in the words of etcd v3's JSON gateway: etcd itself, or the one that the first node
// of a job runs (store_server.hpp), which understands the same words.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/launch/rendezvous/master.hpp>
#include <prdist/launch/rendezvous/store.hpp>

#include "http_request.hpp"

namespace prrun {

class EtcdStore : public prdist::Store {
 public:
  /// Each call takes at most `patience`. The files are for a master with TLS.
  explicit EtcdStore(prdist::Master master, std::chrono::milliseconds patience = std::chrono::milliseconds(2000),
                     TlsFiles files = {});

  [[nodiscard]] prdist::Result<std::vector<prdist::StoreEntry>> list(std::string const& prefix) override;
  [[nodiscard]] prdist::Result<bool> put_if(std::string const& key, std::string const& value, std::uint64_t version,
                                            prdist::Lease lease) override;
  [[nodiscard]] prdist::Result<prdist::Lease> grant(std::chrono::seconds time) override;
  [[nodiscard]] prdist::Result<bool> keep_alive(prdist::Lease lease) override;
  [[nodiscard]] prdist::Result<void> revoke(prdist::Lease lease) override;

 private:
  /// The answer's body. job.stale for a lease that is not there.
  [[nodiscard]] prdist::Result<std::string> ask(std::string const& target, std::string const& body) const;
  [[nodiscard]] prdist::Error not_understood(std::string const& target, std::string_view why) const;

  prdist::Master master_;
  std::chrono::milliseconds patience_;
  TlsFiles files_;
};

}  // namespace prrun
