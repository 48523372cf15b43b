// SPDX-License-Identifier: Apache-2.0
// A server that serves whatever tables trainers declare, on as many ports as Paddle v2's pserver has: a program of its
// own, prserver, or a thread of yours.
//
//   StandaloneServer<> server{{.port = 7164, .trainers = 2}, options_from_env()};
//   server.listen();
//   return server.run();
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/concepts/transport.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/port_layout.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/fleet/options.hpp>
#include <prdist/server/lobby.hpp>
#include <prdist/transport/beast.hpp>
#include <prdist/transport/tcp.hpp>

namespace prdist {

struct StandaloneOptions {
  std::uint16_t port = 7164;  ///< the first
  PortLayout ports{1, 1};
  std::vector<std::string> addresses{};  ///< that it listens on; none: all of this machine's
  std::uint32_t trainers = 1;
  KnownPlace place{};            ///< what is not known, the first trainer tells
  std::size_t servers_here = 1;  ///< that share this machine's memory
};

/// Bytes of several ports are moved by several threads, as far as the machine has cores for it.
[[nodiscard]] inline SocketOptions socket_options(PortLayout const& ports) {
  SocketOptions options;
  options.threads = std::min(ports.total(), default_server_threads());
  return options;
}

template <transport_policy Choice = Beast>
class StandaloneServer {
 public:
  /// @throws Error config.invalid
  StandaloneServer(StandaloneOptions const& options, FleetOptions const& fleet)
      : StandaloneServer(options, fleet, Choice(socket_options(options.ports))) {}
  StandaloneServer(StandaloneOptions options, FleetOptions const& fleet, Choice transport)
      : options_(std::move(options)),
        transport_(std::move(transport)),
        lobby_(runtime_, of(options_, fleet), options_.place) {
    if (options_.port + options_.ports.total() - 1 > 65535) {
      throw Error(Errc::config_invalid, "port ", options_.port, " and ", to_string(options_.ports),
                  " go beyond 65535: begin lower with --port");
    }
  }

  StandaloneServer(StandaloneServer const&) = delete;
  StandaloneServer& operator=(StandaloneServer const&) = delete;

  /// Begins to listen on all ports. @throws Error transport.in_use and others
  void listen() {
    // The first port comes last: a trainer that finds it open finds the others open too.
    for (auto number = options_.ports.total(); number-- > 0;) {
      auto const port = static_cast<std::uint16_t>(options_.port + number);
      auto const counted = lobby_.add_port(port, number, options_.ports);
      if (options_.addresses.empty()) {
        // One socket for both families, where there is IPv6.
        auto listener = listen_on({"::", port}, counted);
        if (!listener && listener.error().code() != Errc::transport_in_use) {
          listener = listen_on({"0.0.0.0", port}, counted);
        }
        keep(std::move(listener), {"0.0.0.0", port});
      }
      for (auto const& address : options_.addresses) keep(listen_on({address, port}, counted), {address, port});
    }
    for (std::uint32_t number = 0; number < options_.ports.total(); ++number) {
      log(Level::info, "Server listening on ", where(), " selected port: ", options_.port + number, " for ",
          options_.ports.is_sparse(number) ? "sparse" : "dense", " parameters");
    }
  }

  /// Serves until every trainer has stopped. Returns the process's exit code: 0, 75 when a trainer was lost or none
  /// has come, that of a StopSignal.
  [[nodiscard]] int run() {
    if (listeners_.empty()) throw Error(Errc::job_state, "run() before listen()");
    auto const code = lobby_.wait();
    listeners_.clear();
    for (auto const& port : lobby_.ports()) log(Level::info, "server: ", to_string(*port));
    return code;
  }

 private:
  static ServerOptions of(StandaloneOptions const& options, FleetOptions const& fleet) {
    return {.trainers = options.trainers,
            .threads = fleet.server_threads,
            .memory = fleet.server_memory != 0 ? fleet.server_memory : default_server_memory(options.servers_here),
            .lost_after = fleet.lost_after,
            .wait_for_trainers = fleet.wait_for_workers};
  }

  [[nodiscard]] Result<std::unique_ptr<Listener>> listen_on(Endpoint const& at, std::shared_ptr<Port> const& port) {
    return transport_.listen(
        {.endpoint = at,
         .pages = [this](std::string_view path,
                         std::function<void(Page)> answer) { lobby_.page(path, std::move(answer)); }},
        [this, port](std::shared_ptr<Connection> const& connection) { return lobby_.accept(connection, port); });
  }

  void keep(Result<std::unique_ptr<Listener>> listener, Endpoint const& at) {
    if (listener) {
      listeners_.push_back(std::move(*listener));
      return;
    }
    auto const& error = listener.error();
    if (error.code() != Errc::transport_in_use) throw Error(error.code(), "server: ", error.message());
    auto const last = options_.port + options_.ports.total() - 1;
    throw Error(
        Errc::transport_in_use, "server: ", to_string(at), " is in use by another process",
        last == options_.port ? std::string() : concat(", and ports ", options_.port, " to ", last, " are needed"),
        ": choose another --port or end that process");
  }

  [[nodiscard]] std::string where() const {
    std::string text;
    for (auto const& address : options_.addresses) text += concat(text.empty() ? "" : ", ", address);
    return text.empty() ? "all interfaces" : text;
  }

  StandaloneOptions options_;
  SystemRuntime runtime_;
  Choice transport_;
  Lobby lobby_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // end before the lobby whose connections they hold
};

}  // namespace prdist
