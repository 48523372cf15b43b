// SPDX-License-Identifier: Apache-2.0
// One connection as the server sees it: checks each header before memory is taken for its payload, then turns the
// frame into work for the engine.
#pragma once

#include <prdist/server/server.hpp>
#include <prdist/wire/hello.hpp>
#include <prdist/wire/texts.hpp>

namespace prdist::detail {

/// The longest text a trainer may bring to a meeting.
inline constexpr std::uint64_t max_text = std::uint64_t{4} << 20;

class Session final : public FrameSink, public std::enable_shared_from_this<Session> {
 public:
  Session(Server& server, std::shared_ptr<Connection> const& connection)
      : server_(server), connection_(connection), peer_(connection->peer()), last_seen_(server.runtime_.now()) {}

  Result<std::span<Bytes const>> on_header(Header const& header) override {
    last_seen_ = server_.runtime_.now();
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
      case Kind::work_state: return reply_text(header, server_.saving_.state_json());
      default: return reply(header);
    }
  }

  void on_close(Error const& error) override {
    closed_ = true;
    if (greeted_ && server_.trainers_.lose(trainer_)) server_.on_lost(trainer_, error);
    // Who connects and goes is a probe; who says something that is no hello may be a trainer of another release.
    if (!greeted_ && error.code() != Errc::transport_closed) {
      log(Level::warning, "server ", server_.options_.index, ": ", who(), ": ", error.what());
    }
    server_.end_if_over();
  }

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

 private:
  [[nodiscard]] std::string who() const {
    return greeted_ ? concat("trainer ", trainer_, " at ", peer_) : concat("the peer at ", peer_);
  }

  [[nodiscard]] Error wrong(auto const&... what) const {
    return Error(Errc::wire_message, concat(who(), ": ", what...));
  }

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
      case Kind::pull_rows:
      case Kind::push_rows: return check_rows(header, options.max_payload);
      case Kind::pull_dense:
      case Kind::push_dense:
      case Kind::assign_dense: return check_dense(header);
      case Kind::meet:
      case Kind::retire:
      case Kind::cut:
      case Kind::load:
        if (header.payload > max_text) return wrong("a text of ", header.payload, " bytes");
        return {};
      case Kind::ask_cut:
      case Kind::met_for_cut:
      case Kind::keep_cut:
      case Kind::work_state:
      case Kind::leave:
      case Kind::ping:
        if (header.payload != 0) return wrong("a message that has no payload came with ", header.payload, " bytes");
        return {};
      default: return wrong("a message of unknown kind ", static_cast<unsigned>(header.kind));
    }
  }

  Result<void> check_rows(Header const& header, std::uint64_t most) {
    info_ = server_.catalog_.find(header.table);
    if (!info_ || info_->sparse() == nullptr) {
      return Error(Errc::table_unknown, who(), ": no sparse table has number ", header.table, ": declare it first");
    }
    auto const row = info_->sparse()->dim * sizeof(float);
    auto const per_key = sizeof(Key) + (header.kind == Kind::push_rows ? row : 0);
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
    if (hello->servers != options.servers || hello->server != options.index) {
      return refuse(
          header, Error(Errc::config_contradiction, "trainer ", hello->trainer, " at ", peer_,
                        " takes this for server ", hello->server, " of ", hello->servers, ", but it is ", options.index,
                        " of ", options.servers, ": PADDLE_PSERVERS_IP_PORT_LIST must be the same everywhere"));
    }
    if (hello->trainers != options.trainers) {
      return refuse(header, Error(Errc::config_contradiction, "trainer ", hello->trainer, " at ", peer_, " knows of ",
                                  hello->trainers, " trainers, server ", options.index, " of ", options.trainers,
                                  ": PADDLE_TRAINERS_NUM must be the same everywhere"));
    }
    if (auto const joined = server_.trainers_.join(hello->trainer, peer_); !joined) {
      return refuse(header, joined.error());
    }
    trainer_ = hello->trainer;
    greeted_ = true;
    log(Level::info, "server ", options.index, ": trainer ", trainer_, " connected from ", peer_);
    reply(header);
  }

  void on_declare(Header const& header) {
    auto const spec = spec_from_json(text());
    if (!spec) return fail(header, spec.error());
    auto const& index = server_.options_.index;
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
        counted(answering(header, rows)));
  }

  void on_push_rows(Header const& header) {
    auto const count = static_cast<std::size_t>(header.count);
    PushRows push{header.table,
                  trainer_,
                  header.weight,
                  (header.flags & flag_last) != 0,
                  0,
                  buffer_->as<Key const>(0, count),
                  buffer_->as<float const>(count * sizeof(Key), count * info_->sparse()->dim),
                  buffer_};
    if (refuse_step(header)) return;
    apply(header, std::move(push));
  }

  void on_pull_dense(Header const& header) {
    auto const count = floats(header);
    auto const weights = server_.buffers_.take(count * sizeof(float));
    server_.engine_.read(
        [header, count, weights](ShardGroup const& group) {
          group.pull_dense(header.table, header.offset, header.count, weights->as<float>(0, count));
        },
        counted(answering(header, weights)));
  }

  void on_push_dense(Header const& header) {
    PushDense push{header.table,
                   trainer_,
                   header.weight,
                   (header.flags & flag_last) != 0,
                   0,
                   header.offset,
                   header.count,
                   buffer_->as<float const>(0, floats(header)),
                   buffer_};
    if (refuse_step(header)) return;
    apply(header, std::move(push));
  }

  void on_assign_dense(Header const& header) {
    apply(header,
          AssignDense{header.table, header.offset, header.count, buffer_->as<float const>(0, floats(header)), buffer_});
  }

  /// The payload is the meeting's name, a zero byte and the text.
  void on_meet(Header const& header) {
    auto const payload = text();
    auto const end = payload.find('\0');
    if (end == std::string_view::npos) return fail(header, wrong("a meeting without a name"));
    std::string const name(payload.substr(0, end));
    if (!server_.trainers_.lost().empty()) return fail(header, server_.lost_error(concat("'", name, "'")));
    auto const attendance = (header.flags & flag_training) != 0 ? Attendance::training : Attendance::everybody;
    server_.meetings_.arrive(name, attendance, trainer_, std::string(payload.substr(end + 1)), until(header),
                             [self = shared_from_this(), header](Error const* error, Texts const& texts) {
                               if (error != nullptr) return self->fail(header, *error);
                               auto all = texts;
                               if ((header.flags & flag_training) != 0) all.merge(self->server_.trainers_.retired());
                               self->reply_bytes(header, encode_texts(all));
                             });
  }

  void on_met_for_cut(Header const& header) {
    server_.call_.met(static_cast<std::uint32_t>(header.offset));
    reply(header);
  }

  void on_cut(Header const& header) {
    auto const kind = (header.flags & flag_changed) != 0 ? CutKind::changed : CutKind::full;
    attempt(header, [&] { server_.saving_.cut(std::string(text()), kind, answering(header)); });
  }

  void on_keep_cut(Header const& header) { server_.saving_.keep_cut(answering(header)); }

  void on_load(Header const& header) {
    attempt(header, [&] {
      server_.saving_.load(std::string(text()));
      reply(header);
    });
  }

  /// Does something that answers, unless it throws.
  template <class Call>
  void attempt(Header const& header, Call&& call) {
    try {
      call();
    } catch (Error const& error) {
      fail(header, Error(error.code(), "server ", server_.options_.index, ": ", error.message()));
    }
  }

  void on_retire(Header const& header) {
    server_.trainers_.retire(trainer_, std::string(text()));
    apply(header, Leave{trainer_});
    server_.meetings_.release();
  }

  void on_ask_cut(Header const& header) {
    server_.call_.ask(header.offset, (header.flags & flag_stop) != 0);
    reply(header);
  }

  void on_leave(Header const& header) {
    server_.trainers_.leave(trainer_);
    log(Level::info, "server ", server_.options_.index, ": trainer ", trainer_, " has stopped");
    apply(header, Leave{trainer_});
    server_.meetings_.release();
  }

  /// A gathered step that includes a lost trainer can never be complete.
  bool refuse_step(Header const& header) {
    if (info_->apply() != ApplyRule::gather || server_.trainers_.lost().empty()) return false;
    fail(header, server_.lost_error(concat("a step of table '", name_of(info_->spec), "'")));
    return true;
  }

  void apply(Header const& header, Command command) {
    auto done = answering(header);
    // A part of a gathered step waits for others, and perhaps for a frame of its own that is still unread: were it
    // counted, a step of many frames would stop its own reading.
    bool const gathers = is_push(header.kind) && info_->apply() == ApplyRule::gather;
    server_.engine_.apply(std::move(command), until(header), gathers ? std::move(done) : counted(std::move(done)));
  }

  /// When the sender of `header` is to hear why it waits: a little before it gives up.
  [[nodiscard]] std::optional<TimePoint> until(Header const& header) const {
    if (header.remaining_ms == 0) return std::nullopt;
    return server_.runtime_.now() + std::chrono::milliseconds(header.remaining_ms) * 9 / 10;
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

  static bool is_push(Kind kind) { return kind == Kind::push_rows || kind == Kind::push_dense; }

  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<char const*>(buffer_->bytes().data()), buffer_->bytes().size()};
  }

  void reply(Header const& to, std::shared_ptr<Buffer> const& payload = nullptr) {
    Outgoing frame;
    if (payload) frame.pieces.emplace_back(payload->bytes());
    frame.keep = payload;
    answer(to, Kind::reply, std::move(frame));
  }

  void reply_bytes(Header const& to, ConstBytes bytes) {
    auto const buffer = server_.buffers_.take(bytes.size());
    std::memcpy(buffer->bytes().data(), bytes.data(), bytes.size());
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
    if (auto const connection = connection_.lock()) connection->send(std::move(frame));
  }

  Server& server_;
  std::weak_ptr<Connection> connection_;
  std::string const peer_;
  std::atomic<TimePoint> last_seen_;
  std::atomic<std::size_t> backlog_ = 0;
  std::atomic<bool> greeted_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> closed_ = false;
  std::uint32_t trainer_ = 0;
  // Of the frame that is being received.
  std::shared_ptr<Buffer> buffer_;
  std::array<Bytes, 1> pieces_;
  std::shared_ptr<TableInfo const> info_;
};

}  // namespace prdist::detail
