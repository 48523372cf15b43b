// SPDX-License-Identifier: Apache-2.0
// What every session does: answers requests, counts those under way, and ends a connection that is silent.
#pragma once

#include <algorithm>

#include <prdist/server/port.hpp>
#include <prdist/server/server.hpp>
#include <prdist/wire/hello.hpp>

namespace prdist::detail {

class SessionBase : public FrameSink, public std::enable_shared_from_this<SessionBase> {
 public:
  SessionBase(Server& server, std::shared_ptr<Connection> const& connection, std::shared_ptr<Port> port)
      : server_(server),
        connection_(connection),
        port_(std::move(port)),
        peer_(connection->peer()),
        last_seen_(server.runtime_.now()) {}

  [[nodiscard]] std::size_t backlog() const override { return backlog_.load(); }

  /// Ends a connection that has been silent for too long. On the runtime's thread.
  void check_silence(TimePoint now) {
    if (closed_) return;
    auto const silent = now - last_seen_.load();
    auto const& options = server_.options_;
    constexpr Duration last_words = std::chrono::seconds(5);
    if (silent < (ending_ ? last_words : greeted_ ? options.lost_after : options.hello_within)) return;
    log(Level::warning, "server ", options.index, ": ", who(), " has been silent for ", seconds(silent), " s: closing");
    // At once: what is queued for it may never leave.
    if (auto const connection = connection_.lock()) connection->abort();
  }

  [[nodiscard]] bool open() const { return !closed_; }

  /// Ends the connection at once when it is one of this trainer's.
  void end_if_of(std::uint32_t trainer) {
    if (closed_ || !greeted_ || trainer_ != trainer) return;
    if (auto const connection = connection_.lock()) connection->abort();
  }

 protected:
  [[nodiscard]] std::string who() const {
    return greeted_ ? concat("trainer ", trainer_, " at ", peer_) : concat("the peer at ", peer_);
  }

  [[nodiscard]] Error wrong(auto const&... what) const {
    return Error(Errc::wire_message, concat(who(), ": ", what...));
  }

  /// A little before the sender gives up, so that it hears the reason.
  [[nodiscard]] std::optional<TimePoint> until(Header const& header) const {
    if (header.remaining_ms == 0) return std::nullopt;
    std::chrono::milliseconds const left(header.remaining_ms);
    // The server looks four times a second.
    return server_.runtime_.now() + left - std::max(left / 10, std::min(left / 2, std::chrono::milliseconds(400)));
  }

  /// Answers the request `header` when its work is done: with `payload`, or with what went wrong.
  [[nodiscard]] Engine::Done answering(Header const& header, std::shared_ptr<Buffer> payload = nullptr) {
    return [self = shared_from_this(), header, payload = std::move(payload)](Error const* error) {
      error == nullptr ? self->reply(header, payload) : self->fail(header, *error);
    };
  }

  /// `done`, and one more request in the backlog until then.
  [[nodiscard]] Engine::Done counted(Engine::Done done) {
    backlog_.fetch_add(1);
    return [self = shared_from_this(), done = std::move(done)](Error const* error) {
      // One less before the answer leaves: the transport looks at the backlog when it has sent it.
      self->backlog_.fetch_sub(1);
      done(error);
    };
  }

  void reply(Header const& to, std::shared_ptr<Buffer> const& payload = nullptr) {
    Outgoing frame;
    if (payload) frame.pieces.emplace_back(payload->bytes());
    frame.keep = payload;
    answer(to, Kind::reply, std::move(frame));
  }

  void reply_bytes(Header const& to, ConstBytes bytes) {
    auto const buffer = server_.buffers_.take(bytes.size());
    if (!bytes.empty()) std::memcpy(buffer->bytes().data(), bytes.data(), bytes.size());
    reply(to, buffer);
  }

  void reply_text(Header const& to, std::string_view text) { reply_bytes(to, std::as_bytes(std::span(text))); }

  void fail(Header const& to, Error const& error) {
    auto const payload = std::make_shared<std::vector<std::byte> const>(encode_failure(error));
    answer(to, Kind::failure, {{}, {ConstBytes(*payload)}, payload});
  }

  void refuse(Header const& to, Error const& error) {
    log(Level::error, "server ", server_.options_.index, ": ", error.what());
    fail(to, error);
    end_soon();
  }

  /// After what is queued has left, or a little later whatever is queued: check_silence() sees to that.
  void end_soon() {
    ending_ = true;
    if (auto const connection = connection_.lock()) connection->finish();
  }

  void answer(Header const& to, Kind kind, Outgoing frame) {
    frame.header = to;
    frame.header.kind = kind;
    server_.call_.tell(frame.header);
    if (port_) {
      std::uint64_t payload = 0;
      for (auto const& piece : frame.pieces) payload += piece.size();
      port_->count_answer(to.kind, payload);
    }
    if (auto const connection = connection_.lock()) connection->send(std::move(frame));
  }

  Server& server_;
  std::weak_ptr<Connection> connection_;
  std::shared_ptr<Port> const port_;  ///< null where nobody counts
  std::string const peer_;
  std::atomic<TimePoint> last_seen_;
  std::atomic<std::size_t> backlog_ = 0;
  std::atomic<bool> greeted_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> closed_ = false;
  std::uint32_t trainer_ = 0;
};

}  // namespace prdist::detail
