// SPDX-License-Identifier: Apache-2.0
// One port for people and machines. curl gets JSON from /healthz and /v1/tables; a trainer's connection starts as
// HTTP, asks for `Upgrade: prdist/1`, and after the 101 carries the same frames as Tcp, at the same cost. Beast stays
// out of this declaration.
#pragma once

#include <memory>
#include <string_view>

#include <prdist/core/decl.hpp>
#include <prdist/transport/tcp.hpp>

namespace prdist {

class Beast {
 public:
  static constexpr std::string_view name = "beast";

  explicit Beast(SocketOptions const& options = {});

  /// Like Tcp's; `options.pages` answers what is not an upgrade.
  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, Acceptor acceptor);

  /// Like Tcp's; fails with transport.failed when the other side does not upgrade.
  [[nodiscard]] Result<std::shared_ptr<Connection>> connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                                            Duration timeout);

 private:
  std::shared_ptr<detail::IoPool> pool_;
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/transport/beast.ipp>
#endif
