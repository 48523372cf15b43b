// SPDX-License-Identifier: Apache-2.0
// Frames over TCP, with nothing in front of them: the leanest way between processes. Few threads serve any number
// of connections. Asio stays out of this declaration.
#pragma once

#include <memory>
#include <string_view>

#include <prdist/core/decl.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/wire/channel.hpp>

namespace prdist {

struct SocketOptions {
  unsigned threads = 1;                                 ///< that move bytes
  std::uint64_t max_payload = std::uint64_t{64} << 20;  ///< of a frame that is received
  std::size_t max_backlog = 256;  ///< requests of one connection that are taken before the first is answered
  std::size_t max_queued = std::size_t{64} << 20;  ///< bytes of answers to one connection before more requests are read
};

namespace detail {
class IoPool;
}

class Tcp {
 public:
  static constexpr std::string_view name = "tcp";

  explicit Tcp(SocketOptions const& options = {});

  /// Listens on the endpoint's address, or on the socket handed over. Fails with transport.in_use,
  /// transport.unresolved or transport.failed.
  [[nodiscard]] Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, Acceptor acceptor);

  /// Fails with transport.refused, transport.unresolved, transport.no_answer or transport.failed.
  [[nodiscard]] Result<std::shared_ptr<Connection>> connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                                            Duration timeout);

 private:
  std::shared_ptr<detail::IoPool> pool_;
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/transport/tcp.ipp>
#endif
