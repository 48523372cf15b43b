// SPDX-License-Identifier: Apache-2.0
// Definitions of trainer/client.hpp: what a client says to the servers beside pulls and pushes.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include <prdist/core/stop_signal.hpp>
#include <prdist/trainer/client.hpp>
#include <prdist/trainer/link.ipp>
#include <prdist/wire/work_state.hpp>

namespace prdist {

PRDIST_DECL std::vector<detail::Answer> Client::ask(std::string what, std::vector<detail::Question> const& questions,
                                                    std::vector<ConstBytes> const& payload) {
  auto const operation = begin(std::move(what));
  // Shared, so that an answer that comes while another server fails has somewhere to go.
  auto const answers = std::make_shared<std::vector<detail::Answer>>(questions.size());
  for (auto const& question : questions) operation->add(static_cast<std::uint32_t>(question.link));
  for (std::size_t i = 0; i < questions.size(); ++i) {
    send(
        questions[i].link, operation, questions[i].header, payload, {},
        [answers, i](Header const& header) { (*answers)[i].header = header; },
        std::shared_ptr<std::vector<std::byte>>(answers, &(*answers)[i].payload));
  }
  operation->seal();
  wait(*operation);
  return std::move(*answers);
}

PRDIST_DECL std::vector<detail::Answer> Client::ask_all(std::string what, Header const& header,
                                                        std::string_view payload) {
  settle_links();
  std::vector<detail::Question> questions;
  for (std::size_t server = 0; server < server_count(); ++server) questions.push_back({link_of(server), header});
  std::vector<ConstBytes> pieces;
  if (!payload.empty()) pieces.push_back(std::as_bytes(std::span(payload)));
  return ask(std::move(what), questions, pieces);
}

PRDIST_DECL detail::Answer Client::ask_one(std::size_t server, std::string what, Header const& header,
                                           std::vector<ConstBytes> const& payload) {
  return std::move(ask(std::move(what), {{link_of(server), header}}, payload).front());
}

PRDIST_DECL void Client::settle_links() {
  if (options_.ports.total() == 1) return;
  std::vector<detail::Question> questions;
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (link % options_.ports.total() != 0) questions.push_back({link, Header{}});
  }
  (void)ask("a look whether all has arrived", questions);
}

PRDIST_DECL Changes Client::changed(SparseRef const& table) {
  auto& heard = heard_[table.id];
  heard.resize(server_count(), 0);
  std::vector<detail::Question> questions;
  for (std::size_t s = 0; s < server_count(); ++s) {
    questions.push_back({link_of(s, table.link), {.kind = Kind::pull_changed, .table = table.id, .offset = heard[s]}});
  }
  auto const answers = ask(concat("a look for changed rows of table '", table.name, "'"), questions);
  Changes changes;
  for (std::size_t s = 0; s < server_count(); ++s) {
    auto const& [header, payload] = answers[s];
    heard[s] = header.offset;
    changes.forgotten = changes.forgotten || (header.flags & flag_forgotten) != 0;
    auto const count = changes.keys.size();
    changes.keys.resize(count + payload.size() / sizeof(Key));
    auto const room = std::as_writable_bytes(std::span(changes.keys).subspan(count));
    std::copy_n(payload.begin(), room.size(), room.begin());
  }
  return changes;
}

PRDIST_DECL bool Client::tick(std::uint32_t lane, std::uint32_t lanes, std::uint64_t steps, std::uint64_t ahead) {
  Header const header{.kind = Kind::clock,
                      .table = static_cast<std::uint32_t>(std::min<std::uint64_t>(ahead, 0xffffffff)),
                      .weight = lanes,
                      .count = steps,
                      .offset = lane};
  return (ask_one(0, concat("the clock of step ", steps), header).header.flags & flag_again) == 0;
}

PRDIST_DECL void Client::leave_clock(std::uint32_t lane, std::uint32_t lanes) {
  (void)ask_one(0, "the end of a thread's clock",
                {.kind = Kind::clock, .flags = flag_leave, .weight = lanes, .offset = lane});
}

PRDIST_DECL std::shared_ptr<Histogram> Client::measured(TableId table) const {
  std::lock_guard const lock(measured_mutex_);
  auto& histogram = measured_[table];
  if (!histogram) histogram = std::make_shared<Histogram>();
  return histogram;
}

PRDIST_DECL std::shared_ptr<Histogram const> Client::staleness(TableId table) const {
  return measured(table);
}

PRDIST_DECL void Client::ping() {
  // A sign of life while the trainer computes; a server that does not answer is noticed by the next call's deadline.
  // It also says that this process was asked to stop, and that at once: one that has no more batches and waits for the
  // others cannot wish for a last checkpoint itself. (A trainer of an elastic job is asked to leave alone.)
  constexpr Duration look_every = std::chrono::milliseconds(250);
  runtime_.after(std::min(options_.ping_every, look_every), [this, life = life_] {
    std::lock_guard const lock(life->mutex);
    if (life->ended) return;
    auto const now = runtime_.now();
    bool const stop = StopSignal::requested() && !options_.elastic;
    if (StopSignal::is_new()) log(Level::info, "worker ", options_.trainer, asked_to_stop, StopSignal::name());
    if (now - pinged_ >= options_.ping_every || (stop && !said_stop_)) {
      pinged_ = now;
      said_stop_ = stop;
      auto const operation = std::make_shared<detail::Operation>("a ping", now + options_.deadline);
      for (std::size_t i = 0; i < links_.size(); ++i) operation->add(static_cast<std::uint32_t>(i));
      for (std::size_t i = 0; i < links_.size(); ++i) send(i, operation, Header{.flags = stop ? flag_stop : 0}, {});
      operation->seal();
    }
    ping();
  });
}

PRDIST_DECL void Client::barrier(std::string_view name) {
  (void)meet(name, "");
}

PRDIST_DECL bool Client::try_barrier(std::string_view name, std::string& missing) {
  Header const header{.kind = Kind::meet, .offset = 500};
  std::byte const end{0};
  settle_links();
  auto const answer =
      ask_one(0, concat("the meeting '", name, "'"), header, {std::as_bytes(std::span(name)), {&end, 1}});
  missing = as_text(answer.payload);
  return (answer.header.flags & flag_again) == 0;
}

PRDIST_DECL Texts Client::meet(std::string_view name, std::string_view text, bool training_only) {
  Header const header{.kind = Kind::meet, .flags = training_only ? flag_training : 0};
  std::byte const end{0};
  settle_links();
  for (;;) {
    auto const answer = ask_one(0, concat("the meeting '", name, "'"), header,
                                {std::as_bytes(std::span(name)), {&end, 1}, std::as_bytes(std::span(text))});
    if ((answer.header.flags & flag_again) == 0) return decode_texts(answer.payload).value();
    // With uneven data that may last hours and is no fault: one that is lost ends the meeting, and a server that does
    // not answer any more fails the next try.
    log(Level::info, "still waiting: ", as_text(answer.payload));
  }
}

PRDIST_DECL void Client::ask_cut(std::uint64_t step, bool stop) {
  (void)ask_one(0, "the wish for a checkpoint", {.kind = Kind::ask_cut, .flags = stop ? flag_stop : 0, .offset = step});
}

PRDIST_DECL void Client::met_for_cut(std::uint32_t number, bool stopped) {
  (void)ask_one(0, "the answer to a wish for a checkpoint",
                {.kind = Kind::met_for_cut, .flags = stopped ? flag_stop : 0, .offset = number});
}

PRDIST_DECL void Client::cut(std::string_view folder, std::string_view since, bool to_be_kept) {
  (void)ask_all(concat("the cut for ", folder), {.kind = Kind::cut, .flags = to_be_kept ? 0 : flag_last},
                since.empty() ? std::string(folder) : concat(folder, '\0', since));
}

PRDIST_DECL void Client::shrink(SparseRef const& table, std::uint32_t day) {
  (void)ask_all(concat("the shrink of table '", table.name, "'"),
                {.kind = Kind::shrink, .table = table.id, .offset = day});
}

PRDIST_DECL void Client::keep_cut(std::string_view folder, std::string_view name) {
  (void)ask_all("the end of a checkpoint", {.kind = Kind::keep_cut}, concat(folder, '\0', name));
}

PRDIST_DECL std::string Client::kept_cut() {
  auto const answers = ask_all("a look at the last checkpoint", {.kind = Kind::keep_cut});
  std::string const name(as_text(answers.front().payload));
  bool const same =
      std::ranges::all_of(answers, [&](detail::Answer const& answer) { return as_text(answer.payload) == name; });
  return same ? name : std::string();
}

PRDIST_DECL void Client::load(std::string_view path) {
  (void)ask_all(concat("the order to load ", path), {.kind = Kind::load}, path);
}

PRDIST_DECL std::vector<std::string> Client::wait_for_work() {
  std::vector<std::string> results;
  std::optional<Error> failed;
  for (std::size_t server = 0; server < server_count(); ++server) {
    auto patience = runtime_.now() + options_.deadline;
    Duration pause = std::chrono::milliseconds(2);
    bool syncs = false;
    for (std::uint64_t rows = 0;;) {
      auto const answer = ask_one(server, "a look at a server's work", {.kind = Kind::work_state});
      auto state = work_state_from_json(as_text(answer.payload), links_[link_of(server)]->name());
      if (state.done) {
        // The others end first: what they are at now would be in the way of the next order.
        if (state.failed && !failed) failed = state.failed;
        results.push_back(std::move(state.result));
        break;
      }
      auto const now = runtime_.now();
      if (state.rows != rows) patience = now + options_.deadline;
      rows = state.rows;
      // A disk gives no sign of life: how long it may take is for the user to say.
      if (state.waits_for_disk && !std::exchange(syncs, true)) {
        patience = now + std::max(options_.deadline, options_.wait_for_disk);
      }
      if (now >= patience && syncs) {
        throw Error(Errc::job_deadline, state.what, ", the disk has not taken its ", rows, " rows within ",
                    seconds(std::max(options_.deadline, options_.wait_for_disk)),
                    " s: look at the server's disk and log; a longer PRDIST_WAIT_DISK waits longer");
      }
      if (now >= patience) {
        throw Error(Errc::job_deadline, state.what, " has not moved for ", seconds(options_.deadline), " s, at ", rows,
                    " rows: look at the server's disk and log; a longer FLAGS_rpc_deadline waits longer");
      }
      Gate never;
      (void)runtime_.wait(never, now + pause);
      pause = std::min<Duration>(pause * 2, std::chrono::milliseconds(200));
    }
  }
  if (failed) throw *failed;
  return results;
}

PRDIST_DECL std::vector<AnySpec> Client::declared() const {
  std::lock_guard const lock(declared_mutex_);
  return declared_;
}

PRDIST_DECL void Client::retire(std::string_view text) {
  (void)ask_all("the end of the steps", {.kind = Kind::retire}, text);
}

PRDIST_DECL NextFile Client::next_file(FileList const& list) {
  auto const [header, payload] =
      ask_one(0, "the wish for a data file",
              {.kind = Kind::next_file, .weight = list.epochs, .count = list.files, .offset = list.source});
  if ((header.flags & flag_again) != 0) return {NextFile::What::later, 0, std::string(as_text(payload))};
  return {(header.flags & flag_last) != 0 ? NextFile::What::over : NextFile::What::task, header.offset, {}};
}

PRDIST_DECL void Client::file_done(std::uint64_t task, std::uint64_t rows) {
  (void)ask_one(0, "the end of a data file", {.kind = Kind::file_done, .count = rows, .offset = task});
}

PRDIST_DECL FileState Client::file_state() {
  auto const answer = ask_one(0, "a look at the data files", {.kind = Kind::file_state});
  return file_state_from_json(as_text(answer.payload), links_[0]->name());
}

PRDIST_DECL void Client::restore_files(FileState const& state) {
  auto const text = to_json(state);
  (void)ask_one(0, "the place in the data files", {.kind = Kind::file_state}, {std::as_bytes(std::span(text))});
}

PRDIST_DECL DutyAnswer Client::ask_duty(std::string_view name) {
  auto const [header, payload] =
      ask_one(0, concat("the wish for '", name, "'"), {.kind = Kind::duty}, {std::as_bytes(std::span(name))});
  auto const what = (header.flags & flag_last) != 0    ? DutyAnswer::What::yours
                    : (header.flags & flag_again) != 0 ? DutyAnswer::What::taken
                                                       : DutyAnswer::What::done;
  return {what, static_cast<std::uint32_t>(header.offset), std::string(as_text(payload))};
}

PRDIST_DECL void Client::return_duty(std::string_view name) {
  (void)ask_one(0, concat("the return of '", name, "'"), {.kind = Kind::duty, .flags = flag_leave},
                {std::as_bytes(std::span(name))});
}

PRDIST_DECL void Client::finish_duty(std::string_view name, std::string_view text) {
  std::byte const end{0};
  (void)ask_one(0, concat("the end of '", name, "'"), {.kind = Kind::duty, .flags = flag_last},
                {std::as_bytes(std::span(name)), {&end, 1}, std::as_bytes(std::span(text))});
}

PRDIST_DECL void Client::leave(bool finished) {
  if (left_) return;
  for (auto const& [owner, send] : unsent_) send();
  // After a last checkpoint in the middle of the work nobody has finished it, whatever the program says.
  bool const early = !finished || cut_wish_->job_stopped();
  (void)ask_all("the goodbye", {.kind = Kind::leave, .flags = early ? flag_stop : 0});
  left_ = true;
  end_life();
  for (auto const& link : links_) link->close(Error(Errc::job_state, "this worker has left the job"));
}

}  // namespace prdist
