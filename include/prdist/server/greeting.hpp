// SPDX-License-Identifier: Apache-2.0
// Whether a trainer's hello fits what a server was told of the job: its place in it, its size, its ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/elastic.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/port_layout.hpp>
#include <prdist/server/port.hpp>
#include <prdist/wire/hello.hpp>

namespace prdist {

/// Fails with config.contradiction, in words for both logs.
[[nodiscard]] inline Result<void> fits_place(Hello const& hello, std::string_view peer, std::uint32_t index,
                                             std::uint32_t servers) {
  if (hello.servers == servers && hello.server == index) return {};
  return Error(Errc::config_contradiction, "trainer ", hello.trainer, " at ", peer, " takes this for server ",
               hello.server, " of ", hello.servers, ", but it is ", index, " of ", servers,
               ": PADDLE_PSERVERS_IP_PORT_LIST must be the same everywhere, and PADDLE_INIT_PSERVERS too");
}

[[nodiscard]] inline Result<void> fits_trainers(Hello const& hello, std::string_view peer, std::string_view who,
                                                std::uint32_t trainers, std::optional<Elastic> const& elastic = {}) {
  if (auto const range = elastic ? to_string(*elastic) : std::string(); hello.elastic != range) {
    return Error(Errc::config_contradiction, "trainer ", hello.trainer, " at ", peer, " has PRDIST_ELASTIC='",
                 hello.elastic, "', ", who, " '", range, "': it must be the same everywhere");
  }
  // In an elastic job it is how many there were at the beginning, which nobody needs to know.
  if (elastic || hello.trainers == trainers) return {};
  return Error(Errc::config_contradiction, "trainer ", hello.trainer, " at ", peer, " knows of ", hello.trainers,
               " trainers, ", who, " of ", trainers,
               ": PADDLE_TRAINERS_NUM must be the same everywhere, and so must --num_gradient_servers");
}

/// A trainer that knows of one port may use any. `port` is null for a server that has only one.
[[nodiscard]] inline Result<void> fits_port(Hello const& hello, std::string_view peer, Port const* port) {
  if (hello.ports == PortLayout{}) return {};
  auto const own = port == nullptr ? PortLayout{} : port->layout();
  auto const number = port == nullptr ? 0 : port->number();
  if (hello.ports == own && hello.link == number) return {};
  return Error(Errc::config_contradiction, "trainer ", hello.trainer, " at ", peer, " takes this for port ", hello.link,
               " of ", to_string(hello.ports), ", but it is ", number, " of ", to_string(own),
               ": PADDLE_INIT_PORT, PADDLE_INIT_PORTS_NUM and PADDLE_INIT_PORTS_NUM_FOR_SPARSE of trainers must be the "
               "server's --port, --ports_num and --ports_num_for_sparse");
}

}  // namespace prdist
