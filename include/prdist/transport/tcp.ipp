// SPDX-License-Identifier: Apache-2.0
// Definitions of transport/tcp.hpp.
#pragma once

#include <prdist/transport/sockets.ipp>
#include <prdist/transport/tcp.hpp>

namespace prdist {

PRDIST_DECL Tcp::Tcp(SocketOptions const& options) : pool_(std::make_shared<detail::IoPool>(options)) {}

PRDIST_DECL Result<std::unique_ptr<Listener>> Tcp::listen(ListenOptions const& options, Acceptor acceptor) {
  return detail::SocketListener::start(
      pool_, options,
      [core = pool_->core(), limits = pool_->options(), acceptor = std::move(acceptor)](
          std::shared_ptr<detail::AcceptedList> const& list, boost::asio::io_context& context,
          detail::tcp::socket socket) {
        auto stream =
            std::make_shared<detail::FrameStream>(core, context, std::move(socket), limits, detail::Side::serves);
        if (!list->add(stream)) return;
        boost::asio::post(context, [stream, sink = acceptor(stream)] { stream->start(sink); });
      });
}

PRDIST_DECL Result<std::shared_ptr<Connection>> Tcp::connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                                             Duration timeout) {
  auto& context = pool_->core()->next();
  auto socket = detail::connect_socket(context, endpoint, timeout);
  if (!socket) return socket.error();
  auto stream = std::make_shared<detail::FrameStream>(pool_->core(), context, std::move(*socket), pool_->options(),
                                                      detail::Side::asks);
  boost::asio::post(context, [stream, sink = std::move(sink)] { stream->start(sink); });
  return std::shared_ptr<Connection>(std::move(stream));
}

}  // namespace prdist
