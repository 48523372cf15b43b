// SPDX-License-Identifier: Apache-2.0
// Definitions of trainer/client.hpp.
#pragma once

#include <algorithm>

#include <prdist/core/stop_signal.hpp>
#include <prdist/table/row_merger.hpp>
#include <prdist/trainer/client.hpp>
#include <prdist/trainer/link.ipp>
#include <prdist/version.hpp>

namespace prdist {

namespace detail {

inline std::uint32_t milliseconds_left(TimePoint deadline, TimePoint now) {
  auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, 0xffffffff));
}

/// Keeps the version of a pull's first answer of server `s`: the oldest that any of its rows may have.
inline std::function<void(Header const&)> noting(Seen* seen, std::size_t s) {
  return [seen, s](Header const& answer) {
    if (seen != nullptr && (*seen)[s] == 0) (*seen)[s] = answer.table_version;
  };
}

/// Adds the staleness that a push is answered with; 0 there stands for "not known".
inline std::function<void(Header const&)> measuring(std::shared_ptr<Histogram> histogram) {
  if (!histogram) return {};
  return [histogram = std::move(histogram)](Header const& answer) {
    if (answer.table_version != 0) histogram->add(answer.table_version - 1);
  };
}

}  // namespace detail

PRDIST_DECL void Handle::wait() {
  if (!operation_) return;
  client_->wait(*operation_);
}

PRDIST_DECL void Handle::finish() noexcept {
  if (!operation_ || operation_->settled()) return;
  try {
    client_->wait(*operation_);
  } catch (std::exception const& error) {
    log(Level::warning, error.what());
  }
}

PRDIST_DECL Client::Client(Runtime& runtime, Connector connector, ClientOptions options)
    : runtime_(runtime),
      connector_(std::move(connector)),
      options_(std::move(options)),
      placement_(options_.servers.size()) {
  for (std::size_t i = 0; i < server_count(); ++i) {
    for (std::uint32_t port = 0; port < options_.ports.total(); ++port) {
      auto at = options_.servers[i];
      at.port = static_cast<std::uint16_t>(at.port + port);
      auto name = concat("worker ", options_.trainer, " -> server ", i, " at ", to_string(at));
      links_.push_back(std::make_shared<detail::Link>(static_cast<std::uint32_t>(link_of(i, port)), std::move(at),
                                                      std::move(name), cut_wish_));
    }
  }
}

PRDIST_DECL Client::~Client() {
  end_life();
  for (auto const& link : links_) link->close(Error(Errc::job_state, "the client has ended"));
}

PRDIST_DECL void Client::end_life() {
  std::lock_guard const lock(life_->mutex);
  life_->ended = true;
}

PRDIST_DECL void Client::connect() {
  auto const deadline = runtime_.now() + options_.wait_for_servers;
  for (;;) {
    auto const not_ready = greet_servers(deadline);
    if (not_ready.empty()) break;
    auto const now = runtime_.now();
    if (StopSignal::requested()) {
      throw Error(Errc::job_stopped, "worker ", options_.trainer, ": asked to stop while it waited for ",
                  not_ready.size(), " of ", server_count(), " servers: nothing was trained");
    }
    if (now >= deadline) {
      std::string list;
      for (auto const& [link, why] : not_ready) list += concat(list.empty() ? "" : "; ", why.message());
      throw Error(not_ready.front().second.code(), "worker ", options_.trainer, ": ", not_ready.size(), " of ",
                  server_count(), " servers were not ready within ", seconds(options_.wait_for_servers), " s: ", list,
                  ": start them, or compare ",
                  options_.ports == PortLayout{} ? "PADDLE_PSERVERS_IP_PORT_LIST"
                                                 : "PADDLE_INIT_PSERVERS, PADDLE_INIT_PORT and its ports_num",
                  " with where they listen");
    }
    std::string list;
    for (auto const& [link, why] : not_ready) {
      list += concat(list.empty() ? "" : ", ", "'", to_string(links_[link]->endpoint()), "'");
    }
    log(Level::info, "server not ready, wait ", seconds(options_.retry_every), " sec to retry...");
    log(Level::info, "not ready endpoints:[", list, "]");
    Gate never;
    (void)runtime_.wait(never, std::min(now + options_.retry_every, deadline));
  }
  log(Level::info, "Communicator start");
  log(Level::info, "init rpc client with trainer_id ", options_.trainer);
  pinged_ = runtime_.now();
  ping();
}

PRDIST_DECL std::vector<std::pair<std::size_t, Error>> Client::greet_servers(TimePoint deadline) {
  // Two seconds for a connection, as users of this family are used to; towards the end no longer than is left, and
  // every server is asked at least shortly, so that the diagnosis names each.
  constexpr Duration longest = std::chrono::seconds(2), shortest = std::chrono::milliseconds(50);
  std::vector<std::pair<std::size_t, Error>> not_ready;
  // Of a server that is not ready the later ports are not tried: one reason is enough.
  auto const next_server = [this](std::size_t link) { return link_of(link / options_.ports.total() + 1); };
  for (std::size_t i = 0, next = 0; i < links_.size(); i = next) {
    next = i + 1;
    if (links_[i]->connected()) continue;
    auto const patience = std::clamp(deadline - runtime_.now(), shortest, longest);
    links_[i]->begin();
    auto connection = connector_(links_[i]->endpoint(), links_[i], patience);
    if (!connection) {
      not_ready.emplace_back(i, connection.error());
      next = next_server(i);
      continue;
    }
    links_[i]->use(*connection);
    // It hears who we are, and says whether that fits what it was told.
    auto const ports = options_.ports.total();
    auto const hello = to_json(Hello{options_.trainer, options_.trainers, static_cast<std::uint32_t>(i / ports),
                                     static_cast<std::uint32_t>(server_count()), std::string(version), options_.ports,
                                     static_cast<std::uint32_t>(i % ports),
                                     options_.elastic ? to_string(*options_.elastic) : std::string()});
    try {
      (void)ask("hello", {{i, {.kind = Kind::hello}}}, {std::as_bytes(std::span(hello))});
    } catch (Error const& error) {
      // A server that is about to end, or a proxy without one: the next look may find it. Or one that has not noticed
      // yet that the last trainer of this id is gone.
      bool const id_is_taken = options_.elastic && error.code() == Errc::job_peer_lost;
      if (error.code() != Errc::transport_closed && !id_is_taken) throw;
      if (id_is_taken) links_[i]->close(error);  // it is about to be closed: not to be taken for a good one
      not_ready.emplace_back(i, error);
      next = next_server(i);
    }
  }
  return not_ready;
}

PRDIST_DECL std::shared_ptr<detail::Operation> Client::begin(std::string what) const {
  if (left_) throw Error(Errc::job_state, "worker ", options_.trainer, ": ", what, " after leaving the job");
  return std::make_shared<detail::Operation>(std::move(what), runtime_.now() + options_.deadline);
}

PRDIST_DECL void Client::send(std::size_t link, std::shared_ptr<detail::Operation> const& operation, Header header,
                              std::vector<ConstBytes> out, std::vector<Bytes> in,
                              std::function<void(Header const&)> arrived,
                              std::shared_ptr<std::vector<std::byte>> whole) {
  auto const request = next_request_.fetch_add(1);
  header.request = request;
  header.client = options_.trainer;
  header.client_epoch = 1;
  header.placement = placement_.epoch();
  header.remaining_ms = detail::milliseconds_left(operation->deadline(), runtime_.now());
  // The frame keeps the operation alive, and with it what the pieces show when keys were sorted.
  links_[link]->send(request, {operation, std::move(in), std::move(arrived), std::move(whole)},
                     {header, std::move(out), operation});
}

PRDIST_DECL void Client::declare_any(AnySpec const& spec) {
  if (auto const fine = check(spec); !fine) throw fine.error();
  (void)ask_all(concat("the declaration of table '", name_of(spec), "'"), {.kind = Kind::declare}, to_json(spec));
  std::lock_guard const lock(declared_mutex_);
  for (auto const& known : declared_) {
    if (name_of(known) == name_of(spec)) return;
  }
  declared_.push_back(spec);
}

PRDIST_DECL std::size_t Client::place_of(std::string_view name, bool sparse) const {
  std::size_t place = options_.trainer;
  std::lock_guard const lock(declared_mutex_);
  for (auto const& known : declared_) {
    if (std::holds_alternative<SparseSpec>(known) != sparse) continue;
    if (name_of(known) == name) break;
    ++place;
  }
  return place;
}

PRDIST_DECL SparseRef Client::declare(SparseSpec const& spec) {
  declare_any(spec);
  return {table_id(spec.name), spec.dim, spec.name, options_.ports.of_sparse(place_of(spec.name, true))};
}

PRDIST_DECL DenseRef Client::declare(DenseSpec const& spec) {
  declare_any(spec);
  return {table_id(spec.name), spec.size(), spec.name, options_.ports.of_dense(place_of(spec.name, false))};
}

PRDIST_DECL void Client::split_by_server(detail::Operation& operation, std::span<Key const> keys) const {
  auto const servers = server_count();
  operation.keys.resize(servers);
  operation.positions.resize(servers);
  for (std::size_t s = 0; s < servers; ++s) {
    operation.keys[s].reserve(keys.size() / servers + 64);
    operation.positions[s].reserve(keys.size() / servers + 64);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const server = placement_.server_of_shard(shard_of(hash_key(keys[i])));
    operation.keys[server].push_back(keys[i]);
    operation.positions[server].push_back(static_cast<std::uint32_t>(i));
  }
}

PRDIST_DECL std::size_t Client::rows_per_frame(SparseRef const& table) const {
  if (table.dim == 0) throw Error(Errc::table_unknown, "a table that declare() did not give: it has no dim");
  return std::max<std::size_t>(1, options_.frame_bytes / (table.dim * sizeof(float)));
}

PRDIST_DECL Handle Client::pull(SparseRef const& table, std::span<Key const> keys, std::span<float> rows, Seen* seen) {
  auto const step = rows_per_frame(table);
  if (rows.size() != keys.size() * table.dim) {
    throw Error(Errc::table_shape, "pull of table '", table.name, "': room for ", rows.size(), " floats, ",
                keys.size() * table.dim, " are needed (", keys.size(), " keys of dim ", table.dim, ")");
  }
  auto operation = begin(concat("a pull of ", keys.size(), " keys of table '", table.name, "'"));
  Header header;
  header.kind = Kind::pull_rows;
  header.table = table.id;
  bool const direct = server_count() == 1;
  if (!direct) split_by_server(*operation, keys);
  if (seen != nullptr) seen->assign(server_count(), 0);
  for (std::size_t s = 0; s < server_count(); ++s) {
    auto const link = link_of(s, table.link);
    std::span<Key const> const mine = direct ? keys : std::span<Key const>(operation->keys[s]);
    for (std::size_t at = 0; at < mine.size(); at += step) {
      auto const part = mine.subspan(at, std::min(step, mine.size() - at));
      header.count = part.size();
      operation->add(static_cast<std::uint32_t>(link));
      if (direct) {
        send(link, operation, header, {std::as_bytes(part)},
             {std::as_writable_bytes(rows.subspan(at * table.dim, part.size() * table.dim))}, detail::noting(seen, s));
        continue;
      }
      // Rows of one server lie scattered over the caller's: they are received together and then dealt out.
      auto const buffer = buffers_.take(part.size() * table.dim * sizeof(float));
      auto const positions = std::span<std::uint32_t const>(operation->positions[s]).subspan(at, part.size());
      auto const deal = [buffer, positions, rows, dim = table.dim,
                         note = detail::noting(seen, s)](Header const& answer) {
        note(answer);
        auto const* from = buffer->as<float>(0, 0).data();
        for (auto const position : positions) {
          std::memcpy(rows.data() + position * dim, from, dim * sizeof(float));
          from += dim;
        }
      };
      send(link, operation, header, {std::as_bytes(part)}, {buffer->bytes()}, deal);
    }
  }
  operation->seal();
  return {*this, std::move(operation)};
}

PRDIST_DECL Handle Client::push(SparseRef const& table, std::span<Key const> keys, std::span<float const> gradients,
                                std::uint32_t examples, Seen const& seen, std::span<float const> show_click) {
  auto const step = rows_per_frame(table);
  check_show_click(table.name, keys, show_click);
  if (gradients.size() != keys.size() * table.dim) {
    throw Error(Errc::table_shape, "push to table '", table.name, "': ", gradients.size(), " gradients for ",
                keys.size(), " keys of dim ", table.dim);
  }
  auto operation = begin(concat("a push of ", keys.size(), " keys to table '", table.name, "'"));
  Header header;
  header.kind = Kind::push_rows;
  header.table = table.id;
  header.weight = examples;
  bool const direct = server_count() == 1;
  if (!direct) {
    split_by_server(*operation, keys);
    operation->deal(gradients, table.dim, operation->values);
    if (!show_click.empty()) operation->deal(show_click, 2, operation->show_click);
  }
  auto const note = detail::measuring(measured(table.id));
  for (std::size_t s = 0; s < server_count(); ++s) {
    auto const link = link_of(s, table.link);
    header.table_version = s < seen.size() ? seen[s] : 0;
    auto const mine = direct ? keys : std::span<Key const>(operation->keys[s]);
    auto const values = direct ? gradients : std::span<float const>(operation->values[s]);
    auto const shown = direct || show_click.empty() ? show_click : std::span<float const>(operation->show_click[s]);
    // A server without keys of ours is told so: in a gathered step it waits for everybody's part.
    std::size_t at = 0;
    do {
      auto const part = mine.subspan(at, std::min(step, mine.size() - at));
      auto const last = at + part.size() == mine.size();
      header.count = part.size();
      header.flags = (last ? flag_last : 0) | (shown.empty() ? 0 : flag_show_click);
      operation->add(static_cast<std::uint32_t>(link));
      std::vector<ConstBytes> out;
      if (!part.empty()) {
        out = {std::as_bytes(part), std::as_bytes(values.subspan(at * table.dim, part.size() * table.dim))};
        if (!shown.empty()) out.push_back(std::as_bytes(shown.subspan(at * 2, part.size() * 2)));
      }
      send(link, operation, header, std::move(out), {}, note);
      at += part.size();
    } while (at < mine.size());
  }
  operation->seal();
  return {*this, std::move(operation)};
}

PRDIST_DECL Handle Client::dense(Kind kind, DenseRef const& table, std::span<float const> out, std::span<float> in,
                                 std::uint32_t examples, Seen const& made_from, Seen* seen) {
  auto const size = kind == Kind::pull_dense ? in.size() : out.size();
  auto const* const verb = kind == Kind::pull_dense   ? "a pull of"
                           : kind == Kind::push_dense ? "a push to"
                                                      : "an assignment to";
  if (size != table.size) {
    throw Error(Errc::table_shape, verb, " table '", table.name, "': ", size, " floats given, it has ", table.size);
  }
  auto operation = begin(concat(verb, " table '", table.name, "'"));
  auto const step = std::max<std::size_t>(1, options_.frame_bytes / (range_floats * sizeof(float)));
  Header header;
  header.kind = kind;
  header.table = table.id;
  header.weight = examples;
  if (seen != nullptr) seen->assign(server_count(), 0);
  auto const note = detail::measuring(kind == Kind::push_dense ? measured(table.id) : nullptr);
  for (std::size_t s = 0; s < server_count(); ++s) {
    auto const link = link_of(s, table.link);
    header.table_version = s < made_from.size() ? made_from[s] : 0;
    auto const ranges = placement_.ranges_of(hash_name(table.name), table.size, s);
    std::size_t at = 0;
    // As for rows: a server that has no range of the table still counts the step.
    if (ranges.empty() && kind == Kind::pull_dense) continue;
    do {
      auto const count = std::min(step, ranges.size() - at);
      header.offset = at;
      header.count = count;
      header.flags = at + count == ranges.size() ? flag_last : 0;
      std::vector<ConstBytes> pieces;
      std::vector<Bytes> room;
      for (std::size_t r = at; r < at + count; ++r) {
        auto const start = ranges[r] * range_floats;
        auto const length = range_length(table.size, ranges[r]);
        if (kind == Kind::pull_dense) {
          room.push_back(std::as_writable_bytes(in.subspan(start, length)));
        } else {
          pieces.push_back(std::as_bytes(out.subspan(start, length)));
        }
      }
      operation->add(static_cast<std::uint32_t>(link));
      send(link, operation, header, std::move(pieces), std::move(room),
           kind == Kind::pull_dense ? detail::noting(seen, s) : note);
      at += count;
    } while (at < ranges.size());
  }
  operation->seal();
  return {*this, std::move(operation)};
}

PRDIST_DECL Handle Client::pull(DenseRef const& table, std::span<float> weights, Seen* seen) {
  return dense(Kind::pull_dense, table, {}, weights, 0, {}, seen);
}

PRDIST_DECL Handle Client::push(DenseRef const& table, std::span<float const> gradients, std::uint32_t examples,
                                Seen const& seen) {
  return dense(Kind::push_dense, table, gradients, {}, examples, seen);
}

PRDIST_DECL Handle Client::assign(DenseRef const& table, std::span<float const> weights) {
  return dense(Kind::assign_dense, table, weights, {}, 0);
}

PRDIST_DECL void Client::wait(detail::Operation& operation) {
  if (!runtime_.wait(operation.gate(), operation.deadline())) {
    std::string owing;
    for (auto const link : operation.owing()) owing += concat(owing.empty() ? "" : ", ", links_[link]->name());
    Error const error(Errc::job_deadline, operation.what(), " has no answer after ", seconds(options_.deadline),
                      " s: ", owing, ": look at the log of that server; a longer FLAGS_rpc_deadline waits longer");
    give_up(operation, error);
    throw error;
  }
  if (auto const error = operation.error()) {
    if (!operation.settled()) give_up(operation, *error);
    throw *error;
  }
}

/// No answer may come into memory the caller is about to free: the connections that owe one are closed.
PRDIST_DECL void Client::give_up(detail::Operation& operation, Error const& error) {
  for (auto const link : operation.owing()) links_[link]->close(error);
}

}  // namespace prdist
