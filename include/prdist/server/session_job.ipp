// SPDX-License-Identifier: Apache-2.0
// The part of a session that is about the job and not about rows: meetings, clocks, checkpoints, the end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/server/session_base.ipp>
#include <prdist/wire/texts.hpp>

namespace prdist::detail {

/// The longest text a trainer may bring to a meeting.
inline constexpr std::uint64_t max_text = std::uint64_t{48} << 20;

class SessionJob : public SessionBase {
 public:
  using SessionBase::SessionBase;

 protected:
  /// The payload is the meeting's name, a zero byte and the text. With an `offset` the trainer wants to look after so
  /// many milliseconds whether something else is to be done.
  void on_meet(Header const& header) {
    auto const payload = text();
    auto const end = payload.find('\0');
    if (end == std::string_view::npos) return fail(header, wrong("a meeting without a name"));
    std::string const name(payload.substr(0, end));
    if (!server_.options_.elastic && !server_.trainers_.lost().empty())
      return fail(header, server_.lost_error(concat("'", name, "'")));
    auto leaves = until(header);
    if (header.offset != 0) {
      auto const look =
          server_.runtime_.now() + std::chrono::milliseconds(std::min<std::uint64_t>(header.offset, 1000));
      leaves = leaves ? std::min(*leaves, look) : look;
    }
    auto const attendance = (header.flags & flag_training) != 0 ? Attendance::training : Attendance::everybody;
    server_.meetings_.arrive(
        name, attendance, trainer_, std::string(payload.substr(end + 1)), leaves,
        [self = job(), header](Error const* error, Texts const& texts) {
          if (error != nullptr) return self->not_met(header, *error);
          auto all = texts;
          if ((header.flags & flag_training) != 0) all.merge(self->server_.trainers_.retired());
          self->reply_bytes(header, encode_texts(all));
        },
        header.offset != 0);
  }

  void on_met_for_cut(Header const& header) {
    server_.call_.met(static_cast<std::uint32_t>(header.offset), (header.flags & flag_stop) != 0);
    reply(header);
  }

  /// The payload is a folder and, for a cut of changed rows, a zero byte and the name of the cut they changed since.
  /// With flag_last no other cut will build on it.
  void on_cut(Header const& header) {
    auto const [folder, since] = halves();
    attempt(header, [&] { server_.saving_.cut(folder, since, (header.flags & flag_last) == 0, answering(header)); });
  }

  /// Without a payload the name of the cut that was kept last is asked for; else it is the folder of the cut to keep,
  /// a zero byte and its name.
  void on_keep_cut(Header const& header) {
    if (text().empty()) {
      return server_.saving_.tell_kept_cut(
          [self = job(), header](std::string const& name) { self->reply_text(header, name); });
    }
    auto const [folder, name] = halves();
    attempt(header, [&] { server_.saving_.keep_cut(folder, name, answering(header)); });
  }

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
    server_.clocks_.leave(trainer_);
    leave_steps(header);
    server_.meetings_.release();
  }

  void on_ask_cut(Header const& header) {
    server_.call_.ask(header.offset, (header.flags & flag_stop) != 0);
    server_.clocks_.look_again();  // who waits for a slower one comes to the meeting first
    reply(header);
  }

  void on_ping(Header const& header) {
    if ((header.flags & flag_stop) != 0 && !server_.options_.elastic) server_.call_.end_soon();
    reply(header);
  }

  /// Of thread `offset` of `weight` threads: it has finished `count` steps, and may be `table` ahead.
  void on_clock(Header const& header) {
    auto const lane = static_cast<std::uint32_t>(header.offset);
    if (server_.options_.elastic) {
      return fail(header, Error(Errc::config_contradiction, "trainer ", trainer_,
                                " counts its steps with the others', in an elastic job: use async or half_async"));
    }
    if ((header.flags & flag_leave) != 0) {
      server_.clocks_.leave(trainer_, lane, header.weight);
      return reply(header);
    }
    server_.clocks_.tick(trainer_, lane, header.weight, header.count, header.table, until(header),
                         [self = job(), header](Clocks::Answer answer) {
                           auto said = header;
                           said.flags = answer == Clocks::Answer::look_again ? flag_again : 0;
                           self->reply(said);
                         });
    // A wish that was stated meanwhile: who is waited for may be at the meeting already.
    if (server_.call_.wanted()) server_.clocks_.look_again();
  }

  /// The next of `count` files in `weight` epochs; `offset` stands for their names.
  void on_next_file(Header const& header) {
    using What = FileQueue::Answer::What;
    auto const next =
        server_.files_.next(trainer_, {header.count, header.offset, header.weight}, server_.runtime_.now());
    if (!next) return fail(header, next.error());
    auto said = header;
    said.offset = next->task;
    said.flags = next->what == What::later ? flag_again : next->what == What::over ? flag_last : 0;
    reply_text(said, next->waits_for);
  }

  void on_file_done(Header const& header) {
    auto const done = server_.files_.done(trainer_, header.offset, header.count);
    done ? reply(header) : fail(header, done.error());
  }

  /// Without a payload it is asked for, else it is to be so.
  void on_file_state(Header const& header) {
    if (text().empty()) return reply_text(header, to_json(server_.files_.state()));
    attempt(header, [&] {
      server_.files_.restore(file_state_from_json(text(), who())).value();
      reply(header);
    });
  }

  /// The payload is the duty's name, and in a report that it is done a zero byte and what came of it.
  void on_duty(Header const& header) {
    using What = Duties::Answer::What;
    auto const [name, result] = halves();
    if ((header.flags & flag_last) != 0) {
      auto const done = server_.duties_.finish(name, trainer_, result);
      return done ? reply(header) : fail(header, done.error());
    }
    if ((header.flags & flag_leave) != 0) {
      server_.duties_.give_up(name, trainer_);
      return reply(header);
    }
    auto const answer = server_.duties_.ask(name, trainer_);
    auto said = header;
    said.flags = answer.what == What::yours ? flag_last : answer.what == What::taken ? flag_again : 0;
    said.offset = answer.holder;
    reply_text(said, answer.text);
  }

  void on_leave(Header const& header) {
    bool const finished = (header.flags & flag_stop) == 0;
    has_left_ = true;
    server_.trainers_.leave(trainer_, finished);
    server_.hand_over(trainer_);
    server_.clocks_.leave(trainer_);
    log(Level::info, "server ", server_.options_.index, ": trainer ", trainer_, finished ? " has stopped" : " leaves");
    leave_steps(header);
    server_.meetings_.release();
  }

  [[nodiscard]] std::string_view text() const { return as_text(buffer_->bytes()); }

  /// The text before the first zero byte, and what stands behind it.
  [[nodiscard]] std::pair<std::string, std::string> halves() const {
    auto const end = std::min(text().find('\0'), text().size());
    return {std::string(text().substr(0, end)), std::string(text().substr(std::min(end + 1, text().size())))};
  }

  bool has_left_ = false;           ///< its id may be another's before the connection ends
  std::shared_ptr<Buffer> buffer_;  ///< the payload of the frame that is being received

 private:
  [[nodiscard]] std::shared_ptr<SessionJob> job() { return std::static_pointer_cast<SessionJob>(shared_from_this()); }

  /// Others may be hours behind, or wait for a disk: who waits is told for whom, and asks again.
  void not_met(Header const& header, Error const& error) {
    if (error.code() != Errc::job_deadline) return fail(header, error);
    auto said = header;
    said.flags |= flag_again;
    reply_text(said, error.message());
  }

  void leave_steps(Header const& header) {
    server_.engine_.apply(Leave{trainer_}, until(header), counted(answering(header)));
  }
};

}  // namespace prdist::detail
