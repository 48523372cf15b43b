// One server, one trainer, over loopback: sparse pull and push of 100,000 random keys out of a million rows, dense
// pull and push of a million floats. The server is a process of its own, and so is the peer of the baseline: blocking
// TCP that moves the same bytes and does nothing with them.
#include <prdist/core/log.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/server/server.hpp>
#include <prdist/trainer/client.hpp>
#include <prdist/transport/beast.hpp>
#include <prdist/transport/tcp.hpp>

#include <cstring>
#include <memory>

#include "key_sets.hpp"
#include "raw_peer.hpp"

namespace {

using namespace prdist;
using bench::row_dim;

constexpr std::size_t dense_size = 1'000'000;
constexpr std::size_t answer_bytes = header_bytes;  // of a push

template <class Choice>
int serve(int listener) {
  SystemRuntime runtime;
  Choice transport;
  auto const server = std::make_shared<Server>(runtime, ServerOptions{});
  server->start();
  ListenOptions options;
  options.descriptor = listener;
  auto const listening = transport.listen(
      options, [&](std::shared_ptr<Connection> const& connection) { return server->accept(connection); });
  bench::verify(bool(listening), "the server cannot listen");
  return server->wait();
}

struct Tables {
  SparseRef rows;
  DenseRef dense;
};

Tables fill_and_verify(Client& client, std::vector<bench::Request> const& requests) {
  Tables const tables{
      client.declare(SparseSpec{.name = "rows", .dim = row_dim, .optimizer = Sgd{.rate = 1}}),
      client.declare(
          DenseSpec{.name = "dense", .parts = {{.name = "all", .size = dense_size}}, .optimizer = Sgd{.rate = 1}})};
  auto const keys = bench::all_keys();
  client.push(tables.rows, keys, bench::gradients_of(keys)).wait();
  auto const& [some, gradients] = requests.front();
  std::vector<float> rows(some.size() * row_dim);
  client.pull(tables.rows, some, rows).wait();
  for (std::size_t i = 0; i < rows.size(); ++i) bench::verify(rows[i] == -gradients[i], "a pulled row");

  std::vector<float> dense(dense_size), pulled(dense_size);
  for (std::size_t i = 0; i < dense_size; ++i) dense[i] = static_cast<float>(i % 97);
  client.push(tables.dense, dense).wait();
  client.pull(tables.dense, pulled).wait();
  for (std::size_t i = 0; i < dense_size; ++i) bench::verify(pulled[i] == -dense[i], "a pulled dense weight");
  return tables;
}

template <class Choice>
void run() {
  set_log({});
  auto const [listener, port] = bench::listen_on_loopback();
  auto const requests = bench::random_requests();
  bench::Child const server([&, listener = listener] { return serve<Choice>(listener); });
  ::close(listener);
  bench::RawPeer raw;

  SystemRuntime runtime;
  Choice transport;
  ClientOptions options;
  options.servers = {{"127.0.0.1", port}};
  Client client(
      runtime, [&](auto const&... arguments) { return transport.connect(arguments...); }, options);
  client.connect();
  auto const tables = fill_and_verify(client, requests);

  std::string const name(Choice::name);
  std::vector<float> rows(bench::request_keys * row_dim), dense(dense_size, 1.0F);
  std::vector<std::byte> key_bytes(bench::request_keys * sizeof(Key), std::byte{1});
  std::vector<std::byte> push_bytes(key_bytes.size() + rows.size() * sizeof(float), std::byte{1});
  std::vector<std::byte> answer(answer_bytes);
  auto const in_turn = [&](auto&& use) {
    return [&, use, turn = std::size_t{0}]() mutable { use(requests[turn++ % requests.size()]); };
  };

  bench::Rounds(name + ": pull of 100,000 keys, dim 16", "key", bench::request_keys)
      .add("raw TCP", [&] { raw.exchange(key_bytes, std::as_writable_bytes(std::span(rows))); })
      .add("prdist", in_turn([&](auto const& it) { client.pull(tables.rows, it.keys, rows).wait(); }), 0.35)
      .run(61);
  bench::Rounds(name + ": push of 100,000 keys, dim 16, sgd", "key", bench::request_keys)
      .add("raw TCP", [&] { raw.exchange(push_bytes, answer); })
      .add("prdist", in_turn([&](auto const& it) { client.push(tables.rows, it.keys, it.gradients).wait(); }), 0.35)
      .run(61);
  bench::Rounds(name + ": pull of 1 M dense floats", "float", dense_size)
      .add("raw TCP", [&] { raw.exchange(answer, std::as_writable_bytes(std::span(dense))); })
      .add("prdist", [&] { client.pull(tables.dense, dense).wait(); })
      .run(61);
  bench::Rounds(name + ": push of 1 M dense floats, sgd", "float", dense_size)
      .add("raw TCP", [&] { raw.exchange(std::as_bytes(std::span(dense)), answer); })
      .add("prdist", [&] { client.push(tables.dense, dense).wait(); })
      .run(61);
  client.leave();
}

bench::Entry const tcp{"transport/tcp", run<Tcp>};
bench::Entry const beast{"transport/beast", run<Beast>};

}  // namespace
