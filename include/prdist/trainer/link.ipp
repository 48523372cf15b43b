// SPDX-License-Identifier: Apache-2.0
// A client's connection to one port of a server: which requests are out, and where their answers go.
#pragma once

#include <unordered_map>

#include <prdist/trainer/client.hpp>
#include <prdist/wire/hello.hpp>

namespace prdist::detail {

class Link final : public FrameSink {
 public:
  /// `number` is its place among the client's links, by which operations know it.
  Link(std::uint32_t number, Endpoint endpoint, std::string name, std::shared_ptr<CutWish> wish)
      : number_(number), endpoint_(std::move(endpoint)), name_(std::move(name)), wish_(std::move(wish)) {}

  struct Request {
    std::shared_ptr<Operation> operation;
    std::vector<Bytes> in;                          ///< where the payload of the answer goes
    std::function<void(Header const&)> arrived;     ///< called when it is there
    std::shared_ptr<std::vector<std::byte>> whole;  ///< takes a payload of any size instead of `in`
  };

  /// Before a connection is made for this link: what was wrong with the last one is forgotten.
  void begin() {
    std::lock_guard const lock(mutex_);
    connection_.reset();
    broken_.reset();
  }

  /// It may have ended already: then that stays known.
  void use(std::shared_ptr<Connection> connection) {
    std::lock_guard const lock(mutex_);
    connection_ = std::move(connection);
  }

  /// Registers the request and sends its frame; when the connection is gone the request fails at once.
  void send(std::uint64_t id, Request request, Outgoing frame) {
    std::shared_ptr<Connection> connection;
    std::optional<Error> broken;
    auto const operation = request.operation;
    {
      std::lock_guard const lock(mutex_);
      if (broken_) {
        broken = broken_;
      } else if (!connection_) {
        broken = Error(Errc::job_state, name_, ": there is no connection: call connect() first");
      } else {
        frame.header.sequence = ++sequence_;
        requests_.emplace(id, std::move(request));
        connection = connection_;
      }
    }
    if (broken) return operation->complete(number_, &*broken);
    connection->send(std::move(frame));
  }

  Result<std::span<Bytes const>> on_header(Header const& header) override {
    std::lock_guard const lock(mutex_);
    auto const it = requests_.find(header.request);
    if (it == requests_.end()) {
      return Error(Errc::wire_message, name_, " answered a request that was not sent");
    }
    if (header.kind == Kind::failure) {
      if (header.payload > 64 * 1024) return Error(Errc::wire_message, name_, " sent a failure without end");
      failure_.resize(static_cast<std::size_t>(header.payload));
      piece_[0] = Bytes(failure_);
      return std::span<Bytes const>(piece_);
    }
    if (auto& whole = it->second.whole; whole && header.kind == Kind::reply) {
      whole->resize(static_cast<std::size_t>(header.payload));
      it->second.in = {Bytes(*whole)};
    }
    std::size_t expected = 0;
    for (auto const& piece : it->second.in) expected += piece.size();
    if (header.kind != Kind::reply || header.payload != expected) {
      return Error(Errc::wire_message, name_, " answered ", header.payload, " bytes where ", expected,
                   " were asked for");
    }
    return std::span<Bytes const>(it->second.in);
  }

  void on_frame(Header const& header) override {
    if (header.remaining_ms != 0 || (header.flags & (flag_stop | flag_stopped)) != 0) wish_->hear(header);
    Request request;
    {
      std::lock_guard const lock(mutex_);
      auto const it = requests_.find(header.request);
      if (it == requests_.end()) return;
      request = std::move(it->second);
      requests_.erase(it);
    }
    if (header.kind == Kind::failure) {
      auto const error = decode_failure(failure_);
      return request.operation->complete(number_, &error);
    }
    if (request.arrived) request.arrived(header);
    request.operation->complete(number_, nullptr);
  }

  void on_close(Error const& error) override { fail_all(error); }

  /// Ends the connection; every request still out fails with `error`.
  void close(Error const& error) {
    std::shared_ptr<Connection> connection;
    {
      // Both at once: whoever sends while the connection ends finds out why.
      std::lock_guard const lock(mutex_);
      break_with(error);
      connection = std::exchange(connection_, nullptr);
    }
    if (connection) connection->close();
    fail_all(error);
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] Endpoint const& endpoint() const noexcept { return endpoint_; }

  [[nodiscard]] bool connected() const {
    std::lock_guard const lock(mutex_);
    return connection_ != nullptr && !broken_;
  }

 private:
  void fail_all(Error const& error) {
    std::unordered_map<std::uint64_t, Request> failed;
    std::optional<Error> said;
    {
      std::lock_guard const lock(mutex_);
      break_with(error);
      said = broken_;
      std::swap(failed, requests_);
    }
    for (auto const& [id, request] : failed) request.operation->complete(number_, &*said);
  }

  /// Keeps the first reason. The caller holds the lock.
  void break_with(Error const& error) {
    if (broken_) return;
    broken_ = Error(
        error.code(), name_, ": ", error.message(),
        requests_.empty() ? "" : concat(" while ", requests_.begin()->second.operation->what(), " was under way"));
  }

  std::uint32_t const number_;
  Endpoint const endpoint_;
  std::string const name_;
  std::shared_ptr<CutWish> const wish_;
  mutable std::mutex mutex_;
  std::shared_ptr<Connection> connection_;
  std::optional<Error> broken_;
  std::uint64_t sequence_ = 0;
  std::unordered_map<std::uint64_t, Request> requests_;
  std::vector<std::byte> failure_;
  std::array<Bytes, 1> piece_;
};

}  // namespace prdist::detail
