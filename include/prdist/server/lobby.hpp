// SPDX-License-Identifier: Apache-2.0
// In front of a server that was not told which one of the job it is: the first trainer's hello tells it, and every
// later one is compared with that. Holds the server's ports, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/server/port.hpp>
#include <prdist/server/server.hpp>
#include <prdist/wire/channel.hpp>
#include <prdist/wire/hello.hpp>

namespace prdist {

/// What a server knows of its place before a trainer has come.
struct KnownPlace {
  std::optional<std::uint32_t> index{};
  std::optional<std::uint32_t> servers{};
};

class Lobby {
 public:
  /// `options.index` and `options.servers` are not looked at. `runtime` must outlive it.
  /// @throws Error config.invalid when the place is known and there are too many servers
  Lobby(Runtime& runtime, ServerOptions const& options, KnownPlace const& place);

  /// One more port, before its connections are accepted. Counted from the first: dense ones, then sparse ones.
  [[nodiscard]] std::shared_ptr<Port> add_port(std::uint16_t port, std::uint32_t number, PortLayout const& layout);

  /// In the order of their numbers.
  [[nodiscard]] std::vector<std::shared_ptr<Port>> ports() const {
    std::lock_guard const lock(mutex_);
    return ports_;
  }

  /// The receiving end of a new connection. The lobby must outlive it.
  [[nodiscard]] std::shared_ptr<FrameSink> accept(std::shared_ptr<Connection> const& connection,
                                                  std::shared_ptr<Port> const& port);

  /// The server's pages, and `/v1/ports`.
  void page(std::string_view path, std::function<void(Page)> answer);

  /// Blocks until the job is over, as Server::wait() does. When no trainer at all comes: 75 after
  /// `options.wait_for_trainers`, and the code of a StopSignal at once: there is nothing to save.
  [[nodiscard]] int wait();

 private:
  class Visitor;

  /// The server that a trainer with this hello has come to.
  [[nodiscard]] Result<std::shared_ptr<Server>> server_for(Hello const& hello, std::string const& peer);
  [[nodiscard]] std::shared_ptr<Server> server() const;
  void open(std::uint32_t index, std::uint32_t servers);

  Runtime& runtime_;
  ServerOptions const options_;
  KnownPlace const place_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Port>> ports_;
  std::shared_ptr<Server> server_;
  Gate opened_;
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/server/lobby.ipp>
#endif
