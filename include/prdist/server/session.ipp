// SPDX-License-Identifier: Apache-2.0
// One connection as the server sees it: checks each header before memory is taken for its payload, then turns the
// frame into work for the engine.
#pragma once

#include <prdist/core/diverged.hpp>
#include <prdist/server/greeting.hpp>
#include <prdist/server/server.hpp>
#include <prdist/server/session_job.ipp>
#include <prdist/table/finite.hpp>
#include <prdist/wire/hello.hpp>

namespace prdist::detail {

class Session final : public SessionJob {
 public:
  using SessionJob::SessionJob;

  Result<std::span<Bytes const>> on_header(Header const& header) override {
    last_seen_ = server_.runtime_.now();
    if (port_) port_->count_request(header);
    if (auto const fine = check(header); !fine) {
      // The peer is told why before the connection ends.
      fail(header, fine.error());
      end_soon();
      return fine.error();
    }
    buffer_ = server_.buffers_.take(static_cast<std::size_t>(header.payload));
    pieces_[0] = buffer_->bytes();
    return std::span<Bytes const>(pieces_);
  }

  void on_frame(Header const& header) override {
    switch (header.kind) {
      case Kind::hello: return on_hello(header);
      case Kind::declare: return on_declare(header);
      case Kind::pull_rows: return on_pull_rows(header);
      case Kind::push_rows: return on_push_rows(header);
      case Kind::pull_dense: return on_pull_dense(header);
      case Kind::push_dense: return on_push_dense(header);
      case Kind::assign_dense: return on_assign_dense(header);
      case Kind::meet: return on_meet(header);
      case Kind::leave: return on_leave(header);
      case Kind::retire: return on_retire(header);
      case Kind::ask_cut: return on_ask_cut(header);
      case Kind::met_for_cut: return on_met_for_cut(header);
      case Kind::cut: return on_cut(header);
      case Kind::keep_cut: return on_keep_cut(header);
      case Kind::load: return on_load(header);
      case Kind::work_state: return reply_text(header, to_json(server_.saving_.state()));
      case Kind::next_file: return on_next_file(header);
      case Kind::file_done: return on_file_done(header);
      case Kind::file_state: return on_file_state(header);
      case Kind::duty: return on_duty(header);
      case Kind::clock: return on_clock(header);
      case Kind::pull_changed: return on_pull_changed(header);
      case Kind::shrink: return apply(header, Shrink{header.table, static_cast<std::uint32_t>(header.offset)});
      case Kind::ping: return on_ping(header);
      default: return reply(header);
    }
  }

  void on_close(Error const& error) override {
    closed_ = true;
    if (greeted_ && !has_left_ && server_.trainers_.lose(trainer_)) server_.on_lost(trainer_, error);
    // Who connects and goes is a probe; who says something that is no hello may be a trainer of another release.
    if (!greeted_ && error.code() != Errc::transport_closed) {
      log(Level::warning, "server ", server_.options_.index, ": ", who(), ": ", error.what());
    }
    server_.end_if_over();
  }

 private:
  static constexpr std::uint32_t most_threads = 65536;  ///< of one trainer

  [[nodiscard]] std::shared_ptr<Session> self() { return std::static_pointer_cast<Session>(shared_from_this()); }

  /// Everything that can be told from the header alone. Sizes are compared without overflow: payload is bounded.
  Result<void> check(Header const& header) {
    auto const& options = server_.options_;
    if (!greeted_ && header.kind != Kind::hello) return wrong("its first message is not a hello");
    if (greeted_ && header.placement != server_.placement_.epoch()) {
      return Error(Errc::job_placement, who(), ": its keys are placed by epoch ", header.placement,
                   ", this server is at ", server_.placement_.epoch());
    }
    switch (header.kind) {
      case Kind::hello:
        if (greeted_) return wrong("said hello twice");
        if (header.payload > 64 * 1024) return wrong("its hello has ", header.payload, " bytes");
        return {};
      case Kind::declare:
        if (header.payload > std::uint64_t{16} << 20) return wrong("its declaration has ", header.payload, " bytes");
        return {};
      case Kind::pull_changed:
      case Kind::shrink:
        if (header.payload != 0) return wrong("a message that has no payload came with ", header.payload, " bytes");
        return find_sparse(header);
      case Kind::pull_rows:
      case Kind::push_rows: return check_rows(header, options.max_payload);
      case Kind::pull_dense:
      case Kind::push_dense:
      case Kind::assign_dense: return check_dense(header);
      case Kind::meet:
      case Kind::retire:
      case Kind::cut:
      case Kind::keep_cut:
      case Kind::load:
      case Kind::file_state:
      case Kind::duty:
        if (header.payload > max_text) return wrong("a text of ", header.payload, " bytes");
        return {};
      case Kind::ask_cut:
      case Kind::met_for_cut:
      case Kind::work_state:
      case Kind::next_file:
      case Kind::file_done:
      case Kind::leave:
      case Kind::ping:
        if (header.payload != 0) return wrong("a message that has no payload came with ", header.payload, " bytes");
        return {};
      case Kind::clock:
        if (header.payload != 0) return wrong("a message that has no payload came with ", header.payload, " bytes");
        if (header.offset >= header.weight || header.weight > most_threads) {
          return wrong("a clock of thread ", header.offset, " of ", header.weight);
        }
        return {};
      default: return wrong("a message of unknown kind ", static_cast<unsigned>(header.kind));
    }
  }

  Result<void> find_sparse(Header const& header) {
    info_ = server_.catalog_.find(header.table);
    if (info_ && info_->sparse() != nullptr) return {};
    return Error(Errc::table_unknown, who(), ": no sparse table has number ", header.table, ": declare it first");
  }

  Result<void> check_rows(Header const& header, std::uint64_t most) {
    if (auto const found = find_sparse(header); !found) return found;
    auto const row = info_->sparse()->dim * sizeof(float);
    auto const per_key =
        sizeof(Key) + (header.kind == Kind::push_rows ? row + show_click_floats(header) * sizeof(float) : 0);
    if (header.count > most / sizeof(Key) || header.payload != header.count * per_key) {
      return wrong("table '", info_->sparse()->name, "': ", header.count, " keys in ", header.payload, " bytes");
    }
    if (header.count * row > most) {
      return Error(Errc::wire_too_large, who(), ": ", header.count, " rows of table '", info_->sparse()->name,
                   "' are more than ", most, " bytes: ask for fewer at a time");
    }
    return {};
  }

  Result<void> check_dense(Header const& header) {
    info_ = server_.catalog_.find(header.table);
    if (!info_ || info_->dense() == nullptr) {
      return Error(Errc::table_unknown, who(), ": no dense table has number ", header.table, ": declare it first");
    }
    auto const ranges = info_->ranges.size();
    if (header.offset > ranges || header.count > ranges - header.offset) {
      return wrong("table '", info_->dense()->name, "': ranges ", header.offset, "+", header.count, " of ", ranges);
    }
    auto const bytes = floats(header) * sizeof(float);
    if (header.payload != (header.kind == Kind::pull_dense ? 0 : bytes)) {
      return wrong("table '", info_->dense()->name, "': ", header.payload, " bytes for ", bytes);
    }
    if (bytes > server_.options_.max_payload) {
      return Error(Errc::wire_too_large, who(), ": ", bytes, " bytes of table '", info_->dense()->name,
                   "' at a time: ask for fewer ranges");
    }
    return {};
  }

  [[nodiscard]] std::size_t floats(Header const& header) const {
    return info_->starts[header.offset + header.count] - info_->starts[header.offset];
  }

  void on_hello(Header const& header) {
    auto const hello = hello_from_json(text());
    if (!hello) return refuse(header, hello.error());
    auto const& options = server_.options_;
    auto const refused = [&](Result<void> const& fits) {
      if (!fits) refuse(header, fits.error());
      return !fits;
    };
    if (refused(fits_place(*hello, peer_, options.index, options.servers)) ||
        refused(fits_trainers(*hello, peer_, concat("server ", options.index), options.trainers, options.elastic)) ||
        refused(fits_port(*hello, peer_, port_.get()))) {
      return;
    }
    auto& trainers = server_.trainers_;
    bool const first = hello->link == 0;
    if (refused(first ? trainers.join(hello->trainer, peer_)
                      : trainers.join_link(hello->trainer, hello->link, peer_))) {
      return;
    }
    trainer_ = hello->trainer;
    greeted_ = true;
    if (first) log(Level::info, "server ", options.index, ": trainer ", trainer_, " connected from ", peer_);
    reply(header);
  }

  void on_declare(Header const& header) {
    auto const spec = spec_from_json(text());
    if (!spec) return fail(header, spec.error());
    auto const& index = server_.options_.index;
    if (std::visit([](auto const& it) { return it.apply; }, *spec) != ApplyRule::immediate &&
        server_.options_.elastic) {
      return fail(header, Error(Errc::config_contradiction, "server ", index, ": trainer ", trainer_,
                                " declares table '", name_of(*spec),
                                "' for a strategy that counts its trainers, in an elastic job: use async "
                                "or half_async"));
    }
    auto const added = server_.catalog_.add(*spec, server_.placement_, index);
    if (!added) {
      return fail(header, Error(added.error().code(), "server ", index, ": trainer ", trainer_, " declares ",
                                added.error().message()));
    }
    // Also when it is known: whether the table could be made is for the engine to say, to everybody who declares it.
    auto const id = table_id(name_of(*spec));
    Command command = DeclareSparse{};
    if (auto const* const sparse = std::get_if<SparseSpec>(&*spec)) {
      command = DeclareSparse{id, *sparse};
    } else {
      command = DeclareDense{id, std::get<DenseSpec>(*spec), server_.catalog_.find(id)->ranges};
    }
    apply(header, std::move(command));
  }

  void on_pull_rows(Header const& header) {
    auto const dim = info_->sparse()->dim;
    auto const count = static_cast<std::size_t>(header.count);
    auto const rows = server_.buffers_.take(count * dim * sizeof(float));
    server_.engine_.read(
        [table = header.table, count, dim, rows, keys = buffer_](ShardGroup const& group) {
          group.pull(table, keys->as<Key const>(0, count), rows->as<float>(0, count * dim));
        },
        counted(answering(with_version(header), rows)));
  }

  /// Per key of a push.
  static std::size_t show_click_floats(Header const& header) { return (header.flags & flag_show_click) != 0 ? 2 : 0; }

  void on_push_rows(Header const& header) {
    if (refuse_step(header) || refuse_stale(header)) return;
    auto const count = static_cast<std::size_t>(header.count);
    auto const dim = info_->sparse()->dim;
    auto const keys = buffer_->as<Key const>(0, count);
    auto const gradients = buffer_->as<float const>(count * sizeof(Key), count * dim);
    if (auto const at = first_not_finite(gradients); at < gradients.size()) {
      return refuse_not_finite(header, gradients[at], concat("for key ", keys[at / dim]));
    }
    PushRows push{
        header.table,
        trainer_,
        header.weight,
        (header.flags & flag_last) != 0,
        0,
        keys,
        gradients,
        buffer_,
        buffer_->as<float const>(count * (sizeof(Key) + dim * sizeof(float)), count * show_click_floats(header))};
    apply(header, std::move(push));
  }

  void on_pull_dense(Header const& header) {
    auto const count = floats(header);
    auto const weights = server_.buffers_.take(count * sizeof(float));
    server_.engine_.read(
        [header, count, weights](ShardGroup const& group) {
          group.pull_dense(header.table, header.offset, header.count, weights->as<float>(0, count));
        },
        counted(answering(with_version(header), weights)));
  }

  void on_push_dense(Header const& header) {
    if (refuse_step(header) || refuse_stale(header)) return;
    auto const gradients = buffer_->as<float const>(0, floats(header));
    if (auto const at = first_not_finite(gradients); at < gradients.size()) {
      return refuse_not_finite(header, gradients[at],
                               concat("in part '", info_->part_at(info_->starts[header.offset] + at), "'"));
    }
    PushDense push{header.table, trainer_,  header.weight, (header.flags & flag_last) != 0, 0, header.offset,
                   header.count, gradients, buffer_};
    apply(header, std::move(push));
  }

  void on_assign_dense(Header const& header) {
    apply(header,
          AssignDense{header.table, header.offset, header.count, buffer_->as<float const>(0, floats(header)), buffer_});
  }

  /// Keys of the rows that others have changed after change `offset`, in any order, some perhaps twice.
  void on_pull_changed(Header const& header) {
    struct Found {
      std::mutex mutex;
      ChangedRows::Answer all{{}, ~std::uint64_t{0}, false};
    };
    server_.engine_.apply(Heard{header.table, trainer_, header.offset}, std::nullopt, [](Error const*) {});
    auto const found = std::make_shared<Found>();
    server_.engine_.read(
        [found, header, trainer = trainer_](ShardGroup const& group) {
          auto const part = group.changed(header.table, trainer, header.offset);
          std::lock_guard const lock(found->mutex);
          found->all.keys.insert(found->all.keys.end(), part.keys.begin(), part.keys.end());
          // Threads may have seen pushes in different orders: what only some have counted is told again.
          found->all.now = std::min(found->all.now, part.now);
          found->all.forgotten = found->all.forgotten || part.forgotten;
        },
        counted([self = self(), header, found](Error const* error) {
          if (error != nullptr) return self->fail(header, *error);
          auto& all = found->all;
          auto said = header;
          said.offset = all.now;
          if (all.forgotten || all.keys.size() > self->server_.options_.max_payload / sizeof(Key)) {
            said.flags = flag_forgotten;
            all.keys.clear();
          }
          said.count = all.keys.size();
          self->reply_bytes(said, std::as_bytes(std::span(all.keys)));
        }));
  }

  /// Before any thread sees it: the payload is in the cache here, for its checksum was just compared.
  void refuse_not_finite(Header const& header, float value, std::string_view where) {
    fail(header,
         Error(Errc::job_diverged, "server ", server_.options_.index, ": a push of trainer ", trainer_, " to table '",
               name_of(info_->spec), "' has the gradient ", without_sign_of_nan(static_cast<double>(value)), ' ', where,
               " and was not applied: ", diverged_way_out));
  }

  /// A gathered step that includes a lost trainer can never be complete.
  bool refuse_step(Header const& header) {
    if (info_->apply() != ApplyRule::gather || server_.trainers_.lost().empty()) return false;
    fail(header, server_.lost_error(concat("a step of table '", name_of(info_->spec), "'")));
    return true;
  }

  /// A push beyond the table's bound is not applied.
  bool refuse_stale(Header const& header) {
    auto const bound = info_->bound();
    auto const staleness = info_->versions->since(header.table_version);
    if (staleness <= bound.most || info_->apply() == ApplyRule::gather) return false;
    info_->versions->dropped();
    if (bound.beyond == Stale::refuse) {
      fail(header, Error(Errc::job_stale, "server ", server_.options_.index, ": a push of trainer ", trainer_,
                         " to table '", name_of(info_->spec), "' is ", staleness, " pushes stale, the bound is ",
                         bound.most, ": raise max_staleness, or use fewer or faster trainers"));
    } else {
      auto said = header;
      said.table_version = staleness + 1;
      reply(said);
    }
    return true;
  }

  [[nodiscard]] Header with_version(Header header) const {
    header.table_version = info_->versions->now();
    return header;
  }

  void apply(Header const& header, Command command) {
    // A part of a gathered step waits for others, and perhaps for a frame of its own that is still unread: were it
    // counted, a step of many frames would stop its own reading.
    bool const gathers = is_push(header.kind) && info_->apply() == ApplyRule::gather;
    auto done = is_push(header.kind) ? answering_push(header) : answering(header);
    server_.engine_.apply(std::move(command), until(header), gathers ? std::move(done) : counted(std::move(done)));
  }

  /// Answers a push with its staleness, one more than it is: 0 stands for "not known". The last frame counts for all.
  [[nodiscard]] Engine::Done answering_push(Header header) {
    bool const last = (header.flags & flag_last) != 0;
    auto const pulled = std::exchange(header.table_version, 0);
    if (info_->apply() != ApplyRule::gather) {
      // Counted now, as it is queued: a pull that comes next will see it applied.
      auto const staleness = last ? info_->versions->applied(pulled) : info_->versions->since(pulled);
      if (last && pulled != 0) header.table_version = staleness + 1;
      return answering(header);
    }
    return [self = self(), header, last, pulled, versions = info_->versions,
            trainer = trainer_](Error const* error) mutable {
      if (error != nullptr) return self->fail(header, *error);
      auto const staleness = last ? versions->applied_in_step(trainer, pulled) : 0;
      if (last && pulled != 0) header.table_version = staleness + 1;
      self->reply(header);
    };
  }

  static bool is_push(Kind kind) { return kind == Kind::push_rows || kind == Kind::push_dense; }

  std::array<Bytes, 1> pieces_;
  std::shared_ptr<TableInfo const> info_;
};

}  // namespace prdist::detail
