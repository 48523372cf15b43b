// SPDX-License-Identifier: Apache-2.0
// Definitions of server/lobby.hpp.
#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstring>
#include <utility>

#include <prdist/core/log.hpp>
#include <prdist/core/stop_signal.hpp>
#include <prdist/server/greeting.hpp>
#include <prdist/server/lobby.hpp>
#include <prdist/version.hpp>

namespace prdist {

/// A connection until its hello; then everything goes to the server's session.
class Lobby::Visitor final : public FrameSink {
 public:
  Visitor(Lobby& lobby, std::shared_ptr<Connection> const& connection, std::shared_ptr<Port> port)
      : lobby_(lobby), connection_(connection), port_(std::move(port)), peer_(connection->peer()) {}

  Result<std::span<Bytes const>> on_header(Header const& header) override {
    if (session_) return session_->on_header(header);
    if (header.kind != Kind::hello || header.payload > most_hello) {
      Error const error(Errc::wire_message, "the peer at ", peer_, ": its first message is not a hello");
      refuse(header, error);
      return error;
    }
    hello_.resize(static_cast<std::size_t>(header.payload));
    pieces_[0] = Bytes(hello_);
    return std::span<Bytes const>(pieces_);
  }

  void on_frame(Header const& header) override {
    if (session_) return session_->on_frame(header);
    auto const hello = hello_from_json(as_text(hello_));
    if (!hello) return refuse(header, hello.error());
    auto const server = lobby_.server_for(*hello, peer_);
    if (!server) return refuse(header, server.error());
    auto const connection = connection_.lock();
    if (!connection) return;
    session_ = (*server)->accept(connection, port_);
    greeted_ = true;
    // The session hears the hello as if it had been there from the start.
    auto const room = session_->on_header(header);
    if (!room) return;
    auto const* from = hello_.data();
    for (auto const& piece : *room) {
      std::copy_n(from, piece.size(), piece.data());
      from += piece.size();
    }
    session_->on_frame(header);
  }

  void on_close(Error const& error) override {
    if (session_) session_->on_close(error);
  }

  [[nodiscard]] std::size_t backlog() const override { return session_ ? session_->backlog() : 0; }

  /// Sends away who has said nothing yet; a session looks after that itself.
  void end_if_silent() {
    if (greeted_) return;
    if (auto const connection = connection_.lock()) connection->abort();
  }

 private:
  static constexpr std::uint64_t most_hello = 64 * 1024;

  void refuse(Header const& header, Error const& error) {
    log(Level::error, "server: ", error.what());
    auto const connection = connection_.lock();
    if (!connection) return;
    auto const payload = std::make_shared<std::vector<std::byte> const>(encode_failure(error));
    auto said = header;
    said.kind = Kind::failure;
    said.flags = 0;
    said.remaining_ms = 0;
    connection->send({said, {ConstBytes(*payload)}, payload});
    connection->finish();
  }

  Lobby& lobby_;
  std::weak_ptr<Connection> connection_;
  std::shared_ptr<Port> port_;
  std::string const peer_;
  std::vector<std::byte> hello_;
  std::array<Bytes, 1> pieces_;
  std::shared_ptr<FrameSink> session_;
  std::atomic<bool> greeted_ = false;
};

PRDIST_DECL Lobby::Lobby(Runtime& runtime, ServerOptions const& options, KnownPlace const& place)
    : runtime_(runtime), options_(options), place_(place) {
  if (place.index && place.servers) open(*place.index, *place.servers);
}

PRDIST_DECL std::shared_ptr<Port> Lobby::add_port(std::uint16_t port, std::uint32_t number, PortLayout const& layout) {
  auto added = std::make_shared<Port>(port, number, layout);
  std::lock_guard const lock(mutex_);
  ports_.push_back(added);
  std::ranges::sort(ports_, {}, [](auto const& each) { return each->number(); });
  return added;
}

PRDIST_DECL void Lobby::open(std::uint32_t index, std::uint32_t servers) {
  auto options = options_;
  options.index = index;
  options.servers = servers;
  auto const server = std::make_shared<Server>(runtime_, options);
  server->start();
  server_ = server;
  opened_.open();
}

PRDIST_DECL std::shared_ptr<Server> Lobby::server() const {
  std::lock_guard const lock(mutex_);
  return server_;
}

PRDIST_DECL std::shared_ptr<FrameSink> Lobby::accept(std::shared_ptr<Connection> const& connection,
                                                     std::shared_ptr<Port> const& port) {
  if (auto const known = server()) return known->accept(connection, port);
  auto visitor = std::make_shared<Visitor>(*this, connection, port);
  runtime_.after(options_.hello_within, [weak = std::weak_ptr(visitor)] {
    if (auto const still = weak.lock()) still->end_if_silent();
  });
  return visitor;
}

PRDIST_DECL Result<std::shared_ptr<Server>> Lobby::server_for(Hello const& hello, std::string const& peer) {
  std::lock_guard const lock(mutex_);
  if (server_) return server_;
  // A trainer of another job is not to say who this is.
  if (auto const fits = fits_trainers(hello, peer, "this server", options_.trainers, options_.elastic); !fits)
    return fits.error();
  if (auto const fits =
          fits_place(hello, peer, place_.index.value_or(hello.server), place_.servers.value_or(hello.servers));
      !fits) {
    return fits.error();
  }
  if (hello.server >= hello.servers) {
    return Error(Errc::wire_message, "trainer ", hello.trainer, " at ", peer, " takes this for server ", hello.server,
                 " of ", hello.servers);
  }
  try {
    open(hello.server, hello.servers);
  } catch (Error const& error) {
    return Error(error.code(), "trainer ", hello.trainer, " at ", peer, ": ", error.message());
  }
  log(Level::info, "server ", hello.server, ": it is server ", hello.server, " of ", hello.servers, ", says trainer ",
      hello.trainer, " at ", peer);
  return server_;
}

PRDIST_DECL void Lobby::page(std::string_view path, std::function<void(Page)> answer) {
  if (path == "/v1/ports") {
    boost::json::array list;
    for (auto const& port : ports()) {
      boost::json::object object{{"port", port->port()}, {"for", port->is_sparse() ? "sparse" : "dense"}};
      for (auto const traffic : every_traffic) {
        auto const& count = port->of(traffic);
        object[name_of(traffic)] = boost::json::object{{"requests", count.requests.load()},
                                                       {"bytes_received", count.received.load()},
                                                       {"bytes_sent", count.sent.load()}};
      }
      list.push_back(std::move(object));
    }
    return answer({200, boost::json::serialize(boost::json::object{{"ports", std::move(list)}})});
  }
  if (path != "/healthz" && path != "/v1/tables") {
    return answer({404, R"({"error":"no such page","pages":["/healthz","/v1/tables","/v1/ports"]})"});
  }
  if (auto const known = server()) return known->page(path, std::move(answer));
  if (path == "/v1/tables") return answer({200, R"({"tables":[],"bytes":0})"});
  answer({200, boost::json::serialize(boost::json::object{
                   {"status", "ok"},
                   {"release", version},
                   {"server", nullptr},
                   {"servers", nullptr},
                   {"trainers", {{"expected", options_.trainers}, {"connected", 0}, {"lost", 0}}}})});
}

PRDIST_DECL int Lobby::wait() {
  auto const begun = runtime_.now();
  auto const until = begun + options_.wait_for_trainers;
  auto said = begun;
  for (auto now = begun; !runtime_.wait(opened_, std::min<TimePoint>(now + std::chrono::milliseconds(200), until));) {
    if (StopSignal::requested()) {
      log(Level::info, "the server", asked_to_stop, StopSignal::name(), " before any trainer has come");
      return StopSignal::exit_code();
    }
    now = runtime_.now();
    if (now >= until) {
      log(Level::error, "server: none of ", options_.trainers, " trainers has come within ",
          seconds(options_.wait_for_trainers), " s: giving up");
      return exit_code(Errc::job_deadline);
    }
    if (now - said >= std::chrono::seconds(30)) {
      said = now;
      log(Level::info, "server: waiting for the first of ", options_.trainers, " trainers");
    }
  }
  return server()->wait();
}

}  // namespace prdist
