// SPDX-License-Identifier: Apache-2.0
// What every transport carries: frames, both ways, over a connection. Server and client are written against these
// few types and know no transport; a transport knows no message.
// An indirect call per frame is nothing beside a write to a socket.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/core/types.hpp>
#include <prdist/wire/frame.hpp>

namespace prdist {

/// The receiving end of a connection, written by its user. Calls come one at a time.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  /// A header has come, and its checksum is right. Returns where the payload goes: pieces that hold exactly
  /// header.payload bytes and stay valid until on_frame() or on_close(). An error ends the connection.
  [[nodiscard]] virtual Result<std::span<Bytes const>> on_header(Header const& header) = 0;

  /// The payload is where it was asked to go, and its checksums are right.
  virtual void on_frame(Header const& header) = 0;

  /// No call follows this one. An orderly end of the peer is transport.closed.
  virtual void on_close(Error const& error) = 0;

  /// Requests taken and not yet answered: while there are too many, the transport reads no more.
  [[nodiscard]] virtual std::size_t backlog() const { return 0; }
};

/// A frame on its way out: the header's `payload` is filled in by the transport from the pieces.
struct Outgoing {
  Header header;
  std::vector<ConstBytes> pieces;
  std::shared_ptr<void const> keep;  ///< owns what the pieces show, until they are sent
};

class Connection {
 public:
  virtual ~Connection() = default;

  /// Queues a frame and returns; frames leave in order. After the end of the connection frames are dropped (the
  /// sink has been told). Any thread.
  virtual void send(Outgoing frame) = 0;

  /// Ends the connection. When it returns, no piece of memory given by the sink is touched any more and the sink is
  /// not called again. Not from inside a sink's call.
  virtual void close() = 0;

  /// Ends the connection after what is queued has been sent. Any thread, also from inside a sink's call. A peer that
  /// does not read keeps it open: see abort().
  virtual void finish() = 0;

  /// Ends the connection at once, whatever is queued, and tells the sink. Any thread, also from inside a sink's call.
  virtual void abort() = 0;

  /// The other side, for messages.
  [[nodiscard]] virtual std::string peer() const = 0;
};

/// Called for each new connection of a listener; returns who receives its frames.
using Acceptor = std::function<std::shared_ptr<FrameSink>(std::shared_ptr<Connection>)>;

/// An answer for people and probes, on transports that speak HTTP.
struct Page {
  unsigned status = 404;
  std::string json;
};
/// Answers now or later, on any thread.
using Pages = std::function<void(std::string_view path, std::function<void(Page)> answer)>;

struct ListenOptions {
  Endpoint endpoint;    ///< port 0 lets the system choose
  int descriptor = -1;  ///< a listening socket handed over by a launcher; used instead of binding
  Pages pages;
};

/// Accepts connections until it is destroyed, which also ends the accepted ones.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Where it really listens.
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
};

/// How a client reaches a server: a transport's connect(), without its type.
using Connector =
    std::function<Result<std::shared_ptr<Connection>>(Endpoint const&, std::shared_ptr<FrameSink>, Duration timeout)>;

}  // namespace prdist
