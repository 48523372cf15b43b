// SPDX-License-Identifier: Apache-2.0
// How frames travel.
#pragma once

#include <concepts>
#include <memory>

#include <prdist/concepts/policy.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/wire/channel.hpp>

namespace prdist {

/// A server's half: connections that come in are handed to the acceptor.
template <class Choice>
concept can_listen = requires(Choice& choice, ListenOptions const& options, Acceptor acceptor) {
  { choice.listen(options, acceptor) } -> std::same_as<Result<std::unique_ptr<Listener>>>;
};

/// A trainer's half.
template <class Choice>
concept can_connect = requires(Choice& choice, Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                               Duration timeout) {
  { choice.connect(endpoint, sink, timeout) } -> std::same_as<Result<std::shared_ptr<Connection>>>;
};

template <class Choice>
concept transport_policy = named<Choice> && can_listen<Choice> && can_connect<Choice>;

template <transport_policy Choice>
struct Transport {
  using axis = prdist::axis::transport;
  using choice = Choice;
};

}  // namespace prdist
