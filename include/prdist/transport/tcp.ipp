// SPDX-License-Identifier: Apache-2.0
// Definitions of transport/tcp.hpp.
#pragma once

#include <prdist/transport/sockets.ipp>
#include <prdist/transport/tcp.hpp>

namespace prdist {

namespace detail {

/// Accepted connections end with their listener.
class TcpListener final : public Listener {
 public:
  TcpListener(std::shared_ptr<IoPool> pool, ListenOptions const& options, Acceptor acceptor) : pool_(std::move(pool)) {
    auto streams = streams_;
    auto loop = start_accepting(*pool_, options,
                                [core = pool_->core(), streams, limits = pool_->options(),
                                 acceptor = std::move(acceptor)](asio::io_context& context, tcp::socket socket) {
                                  auto stream = std::make_shared<FrameStream>(core, context, std::move(socket), limits);
                                  streams->add(stream);
                                  asio::post(context, [stream, sink = acceptor(stream)] { stream->start(sink); });
                                });
    if (!loop) throw loop.error();
    loop_ = std::move(*loop);
  }

  ~TcpListener() override {
    loop_->stop();
    streams_->close_all();
  }

  [[nodiscard]] Endpoint endpoint() const override { return loop_->endpoint(); }

 private:
  struct Streams {
    std::mutex mutex;
    std::vector<std::weak_ptr<Connection>> list;

    void add(std::shared_ptr<Connection> const& stream) {
      std::lock_guard const lock(mutex);
      std::erase_if(list, [](auto const& weak) { return weak.expired(); });
      list.push_back(stream);
    }

    void close_all() {
      std::vector<std::weak_ptr<Connection>> closing;
      {
        std::lock_guard const lock(mutex);
        closing.swap(list);
      }
      for (auto const& weak : closing) {
        if (auto const stream = weak.lock()) stream->close();
      }
    }
  };

  std::shared_ptr<IoPool> pool_;
  std::shared_ptr<Streams> streams_ = std::make_shared<Streams>();
  std::shared_ptr<AcceptLoop> loop_;
};

}  // namespace detail

PRDIST_DECL Tcp::Tcp(SocketOptions const& options) : pool_(std::make_shared<detail::IoPool>(options)) {}

PRDIST_DECL Result<std::unique_ptr<Listener>> Tcp::listen(ListenOptions const& options, Acceptor acceptor) {
  try {
    return std::unique_ptr<Listener>(std::make_unique<detail::TcpListener>(pool_, options, std::move(acceptor)));
  } catch (Error const& error) {
    return error;
  }
}

PRDIST_DECL Result<std::shared_ptr<Connection>> Tcp::connect(Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                                             Duration timeout) {
  auto& context = pool_->core()->next();
  auto socket = detail::connect_socket(context, endpoint, timeout);
  if (!socket) return socket.error();
  auto stream = std::make_shared<detail::FrameStream>(pool_->core(), context, std::move(*socket), pool_->options());
  boost::asio::post(context, [stream, sink = std::move(sink)] { stream->start(sink); });
  return std::shared_ptr<Connection>(std::move(stream));
}

}  // namespace prdist
