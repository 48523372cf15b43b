// SPDX-License-Identifier: Apache-2.0
#include "store_server.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include <prdist/core/text.hpp>

#include "base64.hpp"

namespace prrun {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;
using prdist::concat;
using prdist::Errc;
using prdist::Error;
using prdist::Lease;
using prdist::Result;
using prdist::StoreEntry;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto waiting = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t most_request = 8 << 20;
constexpr std::size_t most_connections = 4096;
constexpr auto idle_time = std::chrono::seconds(30);

/// @throws std::exception, as the two below
std::string text_at(json::object const& object, std::string_view name) {
  auto text = from_base64(object.at(name).as_string());
  if (!text) throw std::invalid_argument(concat(name, " is not base64"));
  return std::move(*text);
}

std::uint64_t number_at(json::object const& object, std::string_view name) {
  std::uint64_t number = 0;
  auto const& value = object.at(name);
  if (!value.is_string()) return value.to_number<std::uint64_t>();
  if (!prdist::parse_number(std::string_view(value.as_string()), number)) throw std::invalid_argument("no number");
  return number;
}

json::object range(prdist::MemoryKeys& keys, json::object const& request, Clock::time_point now) {
  json::array kvs;
  auto const first = text_at(request, "key");
  auto const end = text_at(request, "range_end");
  // A range is what has a prefix: nothing else is asked for.
  auto prefix = end;
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) - 1);
  if (first.empty() || prefix != first) throw std::invalid_argument("the range is not that of a prefix");
  for (auto const& entry : keys.list(first, now)) {
    kvs.push_back(json::object{
        {"key", to_base64(entry.key)}, {"value", to_base64(entry.value)}, {"mod_revision", concat(entry.version)}});
  }
  return {{"header", json::object()}, {"kvs", std::move(kvs)}};
}

Result<json::object> txn(prdist::MemoryKeys& keys, json::object const& request, Clock::time_point now) {
  auto const& compare = request.at("compare").as_array().at(0).as_object();
  auto const& put = request.at("success").as_array().at(0).as_object().at("request_put").as_object();
  auto const key = text_at(put, "key");
  bool const known = compare.at("target").as_string() == "MOD" && compare.at("result").as_string() == "EQUAL" &&
                     text_at(compare, "key") == key && request.at("compare").as_array().size() == 1 &&
                     request.at("success").as_array().size() == 1 && !request.contains("failure");
  if (!known) throw std::invalid_argument("the transaction is not a compare-and-swap of one key");
  auto const written =
      keys.put_if(key, text_at(put, "value"), number_at(compare, "mod_revision"), number_at(put, "lease"), now);
  if (!written) return written.error();
  return json::object{{"header", json::object()}, {"succeeded", *written}};
}

Result<json::object> handle(prdist::MemoryKeys& keys, std::string_view target, json::object const& request,
                            Clock::time_point now) {
  if (target == "/v3/kv/range") return range(keys, request, now);
  if (target == "/v3/kv/txn") return txn(keys, request, now);
  if (target == "/v3/lease/grant") {
    auto const time = number_at(request, "TTL");
    if (time == 0 || time > 86'400) throw std::invalid_argument("TTL is not from 1 to 86400");
    auto const lease = keys.grant(std::chrono::seconds(time), now);
    if (!lease) return lease.error();
    return json::object{{"header", json::object()}, {"ID", concat(*lease)}, {"TTL", concat(time)}};
  }
  if (target == "/v3/lease/keepalive") {
    auto const lease = number_at(request, "ID");
    json::object result{{"ID", concat(lease)}};
    if (keys.keep_alive(lease, now)) result["TTL"] = "1";
    return json::object{{"result", std::move(result)}};
  }
  if (target == "/v3/lease/revoke") {
    keys.revoke(number_at(request, "ID"));
    return json::object{{"header", json::object()}};
  }
  return Error(Errc::wire_message, "store: there is no ", target);
}

class LocalStore : public prdist::Store {
 public:
  explicit LocalStore(std::shared_ptr<SharedKeys> shared) : shared_(std::move(shared)) {}

  [[nodiscard]] Result<std::vector<StoreEntry>> list(std::string const& prefix) override {
    std::lock_guard const lock(shared_->mutex);
    return shared_->keys.list(prefix, Clock::now());
  }
  [[nodiscard]] Result<bool> put_if(std::string const& key, std::string const& value, std::uint64_t version,
                                    Lease lease) override {
    std::lock_guard const lock(shared_->mutex);
    return shared_->keys.put_if(key, value, version, lease, Clock::now());
  }
  [[nodiscard]] Result<Lease> grant(std::chrono::seconds time) override {
    std::lock_guard const lock(shared_->mutex);
    return shared_->keys.grant(time, Clock::now());
  }
  [[nodiscard]] Result<bool> keep_alive(Lease lease) override {
    std::lock_guard const lock(shared_->mutex);
    return shared_->keys.keep_alive(lease, Clock::now());
  }
  [[nodiscard]] Result<void> revoke(Lease lease) override {
    std::lock_guard const lock(shared_->mutex);
    shared_->keys.revoke(lease);
    return {};
  }

 private:
  std::shared_ptr<SharedKeys> shared_;
};

}  // namespace

HttpAnswer answer_to(SharedKeys& shared, std::string_view target, std::string_view body,
                     prdist::MemoryKeys::TimePoint now) {
  auto const complaint = [](int status, std::string_view what) {
    return HttpAnswer{status, json::serialize(json::object{{"error", what}})};
  };
  try {
    auto const request = json::parse(body);
    std::lock_guard const lock(shared.mutex);
    auto const answer = handle(shared.keys, target, request.as_object(), now);
    if (answer) return {200, json::serialize(*answer)};
    if (answer.error().code() == Errc::job_stale) return complaint(404, "requested lease not found");
    return complaint(answer.error().code() == Errc::wire_message ? 404 : 400, answer.error().message());
  } catch (std::exception const& error) {
    return complaint(400, error.what());
  }
}

struct StoreServer::Work {
  Work(std::shared_ptr<SharedKeys> keys, prdist::Descriptor listening)
      : shared(std::move(keys)), acceptor(io), retry(io) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&own), &size);
    acceptor.assign(own.ss_family == AF_INET ? asio::ip::tcp::v4() : asio::ip::tcp::v6(), listening.release());
    asio::co_spawn(io, accept(), asio::detached);
    thread = std::thread([this] { io.run(); });
  }
  ~Work() {
    io.stop();
    thread.join();
  }

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor.async_accept(waiting);
      if (error == asio::error::operation_aborted) co_return;
      if (!error && connections < most_connections) {
        ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);  // no member of the job inherits it
        asio::co_spawn(io, serve(beast::tcp_stream(std::move(socket))), asio::detached);
        continue;
      }
      // Too many: those that are there come first.
      retry.expires_after(std::chrono::milliseconds(50));
      (void)co_await retry.async_wait(waiting);
    }
  }

  asio::awaitable<void> serve(beast::tcp_stream stream) {
    ++connections;
    beast::flat_buffer buffer;
    for (bool more = true; more;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(most_request);
      stream.expires_after(idle_time);
      auto [unread, read] = co_await http::async_read(stream, buffer, parser, waiting);
      if (unread) break;
      auto const& request = parser.get();
      auto const target = std::string_view(request.target().data(), request.target().size());
      HttpAnswer const answer = request.method() == http::verb::post
                                    ? answer_to(*shared, target, request.body(), Clock::now())
                                    : HttpAnswer{405, R"({"error":"this store of prrun takes POST only"})"};
      http::response<http::string_body> response(static_cast<http::status>(answer.status), request.version());
      response.set(http::field::content_type, "application/json");
      response.keep_alive(request.keep_alive());
      response.body() = answer.body;
      response.prepare_payload();
      auto [unsent, sent] = co_await http::async_write(stream, response, waiting);
      more = !unsent && response.keep_alive();
    }
    boost::system::error_code ignored;
    stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    --connections;
  }

  std::shared_ptr<SharedKeys> shared;
  asio::io_context io{1};
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer retry;
  std::size_t connections = 0;
  std::thread thread;
};

StoreServer::StoreServer(prdist::Descriptor listening)
    : shared_(std::make_shared<SharedKeys>()), work_(std::make_unique<Work>(shared_, std::move(listening))) {}

StoreServer::~StoreServer() = default;

std::unique_ptr<prdist::Store> StoreServer::store() const {
  return std::make_unique<LocalStore>(shared_);
}

}  // namespace prrun
