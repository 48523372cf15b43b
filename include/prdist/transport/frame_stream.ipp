// SPDX-License-Identifier: Apache-2.0
// Frames over a connected TCP socket, whatever was said on it before: Tcp starts here, Beast comes here after the
// upgrade. Everything but send(), finish() and close() runs on the thread of the socket's context.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <prdist/transport/io_pool.ipp>
#include <prdist/wire/channel.hpp>
#include <prdist/wire/checksum.hpp>
#include <prdist/wire/frame.hpp>

namespace prdist::detail {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// `host:port` of the other side, for messages.
inline std::string peer_of(tcp::socket const& socket) {
  error_code error;
  auto const endpoint = socket.remote_endpoint(error);
  return error ? std::string("?") : to_string(Endpoint{endpoint.address().to_string(), endpoint.port()});
}

/// Which side of a connection a stream is. Only the one that serves stops reading when it has too much to do: a client
/// that stopped would wait for a server that waits for it.
enum class Side { serves, asks };

class FrameStream final : public Connection, public Endable, public std::enable_shared_from_this<FrameStream> {
 public:
  FrameStream(std::shared_ptr<IoCore> core, asio::io_context& context, tcp::socket socket, SocketOptions const& options,
              Side side)
      : core_(std::move(core)),
        context_(context),
        socket_(std::move(socket)),
        options_(options),
        side_(side),
        peer_(peer_of(socket_)) {}

  /// Begins to read. Once, on the context's thread.
  void start(std::shared_ptr<FrameSink> sink) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    sink_ = std::move(sink);
    number_ = core_->remember(context_, weak_from_this());
    read_header();
  }

  void send(Outgoing frame) override {
    asio::post(context_, [self = shared_from_this(), frame = std::move(frame)]() mutable {
      if (self->closed_) return;
      self->queued_bytes_ += self->add(std::move(frame));
      if (!self->writing_) self->write();
    });
  }

  void finish() override {
    asio::post(context_, [self = shared_from_this()] { self->end_after_queue(); });
  }

  void abort() override {
    asio::post(context_, [self = shared_from_this()] { self->fail(self->why_ended()); });
  }

  void close() override {
    core_->run_on(context_, [this] { end(); });
  }

  void end() override {
    sink_.reset();
    shut();
  }

  [[nodiscard]] std::string peer() const override { return peer_; }

 private:
  static constexpr std::size_t batch_bytes = 256 * 1024;

  struct Queued {
    Outgoing frame;
    HeaderBytes header;
    std::vector<std::byte> sums;
    std::size_t bytes;
  };

  std::size_t add(Outgoing frame) {
    frame.header.payload = 0;
    for (auto const& piece : frame.pieces) frame.header.payload += piece.size();
    auto const bytes = header_bytes + static_cast<std::size_t>(frame.header.payload);
    queue_.push_back({std::move(frame), {}, {}, bytes});
    return bytes;
  }

  /// Writes what is queued, up to a batch at a time: small frames share a system call, and the checksums of a large
  /// one are taken while its predecessor is on the wire.
  void write() {
    writing_ = true;
    buffers_.clear();
    in_flight_ = 0;
    std::size_t bytes = 0;
    for (auto& it : queue_) {
      if (in_flight_ > 0 && bytes + it.bytes > batch_bytes) break;
      it.header = encode(it.frame.header);
      it.sums.resize(checksum_count(it.frame.header.payload) * sizeof(std::uint64_t));
      write_checksums(std::span<ConstBytes const>(it.frame.pieces), it.sums);
      buffers_.emplace_back(it.header.data(), it.header.size());
      for (auto const& piece : it.frame.pieces) buffers_.emplace_back(piece.data(), piece.size());
      if (!it.sums.empty()) buffers_.emplace_back(it.sums.data(), it.sums.size());
      bytes += it.bytes;
      ++in_flight_;
    }
    asio::async_write(socket_, buffers_,
                      [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); });
  }

  void on_written(error_code error) {
    writing_ = false;
    if (closed_) return queue_.clear();
    for (; in_flight_ > 0; --in_flight_) {
      queued_bytes_ -= queue_.front().bytes;
      queue_.pop_front();
    }
    if (error) return fail(lost(error));
    if (paused_ && !overloaded()) {
      paused_.reset();
      read_header();
    }
    if (!queue_.empty()) return write();
    if (finishing_) fail(why_ended());
  }

  [[nodiscard]] bool overloaded() const {
    if (side_ == Side::asks) return false;
    return queued_bytes_ > options_.max_queued || (sink_ && sink_->backlog() >= options_.max_backlog);
  }

  void read_header() {
    if (overloaded()) {
      paused_ = shared_from_this();  // on_written() goes on: every request that is answered writes something
      return;
    }
    asio::async_read(socket_, asio::buffer(header_bytes_),
                     [self = shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
  }

  void on_header(error_code error) {
    if (closed_ || !sink_) return;
    if (error) return fail(lost(error));
    auto const header = decode(header_bytes_, options_.max_payload);
    if (!header) return fail(header.error());
    header_ = *header;
    auto const room = sink_->on_header(header_);
    if (!room) {
      reason_ = room.error();
      // The sink may have sent its reason to the peer a moment ago: it is in the context's queue, in front of this.
      return finish();
    }
    room_.assign(room->begin(), room->end());
    if (header_.payload == 0) return deliver();
    sums_.resize(checksum_count(header_.payload) * sizeof(std::uint64_t));
    std::vector<asio::mutable_buffer> buffers;
    for (auto const& piece : room_) buffers.emplace_back(piece.data(), piece.size());
    buffers.emplace_back(sums_.data(), sums_.size());
    asio::async_read(socket_, buffers,
                     [self = shared_from_this()](error_code failed, std::size_t) { self->on_payload(failed); });
  }

  void on_payload(error_code error) {
    if (closed_ || !sink_) return;
    if (error) return fail(lost(error));
    expected_.resize(sums_.size());
    write_checksums(std::span<Bytes const>(room_), expected_);
    if (expected_ != sums_) {
      return fail(Error(Errc::wire_checksum, "a payload of ", header_.payload,
                        " bytes arrived damaged: the connection cannot be trusted"));
    }
    deliver();
  }

  void deliver() {
    sink_->on_frame(header_);
    if (!closed_) read_header();
  }

  void end_after_queue() {
    finishing_ = true;
    if (!writing_) fail(why_ended());
  }

  [[nodiscard]] Error why_ended() const {
    return reason_ ? *reason_ : Error(Errc::transport_closed, "this side closed the connection");
  }

  [[nodiscard]] static Error lost(error_code error) {
    if (error == asio::error::eof) return {Errc::transport_closed, "the peer closed the connection"};
    return {Errc::transport_closed, "the connection broke: ", error.message()};
  }

  void fail(Error const& error) {
    auto const sink = std::exchange(sink_, nullptr);
    shut();
    if (sink) sink->on_close(error);
  }

  void shut() {
    if (closed_) return;
    closed_ = true;
    paused_.reset();
    core_->forget(number_);
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    if (!writing_) queue_.clear();
  }

  std::shared_ptr<IoCore> core_;
  asio::io_context& context_;
  tcp::socket socket_;
  SocketOptions options_;
  Side const side_;
  std::string const peer_;
  std::shared_ptr<FrameSink> sink_;
  std::uint64_t number_ = 0;

  HeaderBytes header_bytes_;
  Header header_;
  std::vector<Bytes> room_;
  std::vector<std::byte> sums_;
  std::vector<std::byte> expected_;
  std::optional<Error> reason_;  // of the end, when the sink has refused a header
  // Set while reading waits: then no handler holds the stream, and whoever answers has only a weak pointer to it.
  std::shared_ptr<FrameStream> paused_;

  std::deque<Queued> queue_;
  std::vector<asio::const_buffer> buffers_;
  std::size_t in_flight_ = 0;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false;
  bool finishing_ = false;
  bool closed_ = false;
};

}  // namespace prdist::detail
