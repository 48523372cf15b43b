// SPDX-License-Identifier: Apache-2.0
// Definitions of trainer/client.hpp: what trainers do together, beside pulling and pushing.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <optional>

#include <prdist/trainer/client.hpp>
#include <prdist/trainer/link.ipp>

namespace prdist {

namespace detail {

struct WorkState {
  std::string what{};
  bool done = false;
  std::uint64_t rows = 0;
  std::string result{};
  std::optional<Error> failed{};
};

[[nodiscard]] inline WorkState work_from_json(ConstBytes payload, std::string_view from) {
  boost::system::error_code failed;
  auto const value = boost::json::parse({reinterpret_cast<char const*>(payload.data()), payload.size()}, failed);
  WorkState state;
  try {
    auto const& object = value.as_object();
    state.what = object.at("what").as_string();
    state.done = object.at("done").as_bool();
    state.rows = object.at("rows").to_number<std::uint64_t>();
    if (auto const* const result = object.if_contains("result")) state.result = result->as_string();
    if (auto const* const error = object.if_contains("error")) {
      auto const code = error->at("code").to_number<std::uint64_t>();
      state.failed = Error(code > static_cast<std::uint64_t>(last_errc) ? Errc::internal : static_cast<Errc>(code),
                           error->at("text").as_string());
    }
  } catch (std::exception const&) {
    throw Error(Errc::wire_message, from, " did not say how far its work is");
  }
  return state;
}

}  // namespace detail

PRDIST_DECL std::vector<std::byte> Client::ask(std::size_t server, std::string what, Header header,
                                               std::vector<ConstBytes> payload) {
  auto const operation = begin(std::move(what));
  auto const answer = std::make_shared<std::vector<std::byte>>();
  operation->add(static_cast<std::uint32_t>(server));
  send(server, operation, header, std::move(payload), {}, {}, answer);
  operation->seal();
  wait(*operation);
  return std::move(*answer);
}

PRDIST_DECL void Client::barrier(std::string_view name) {
  (void)meet(name, "");
}

PRDIST_DECL Texts Client::meet(std::string_view name, std::string_view text, bool training_only) {
  Header header;
  header.kind = Kind::meet;
  header.flags = training_only ? flag_training : 0;
  std::byte const end{0};
  for (;;) {
    try {
      return decode_texts(ask(0, concat("the meeting '", name, "'"), header,
                              {std::as_bytes(std::span(name)), {&end, 1}, std::as_bytes(std::span(text))}))
          .value();
    } catch (Error const& error) {
      // The server says that others are still on their way. With uneven data that may last hours and is no fault: one
      // that is lost ends the meeting, and a server that does not answer any more fails the next try.
      bool const on_their_way = error.code() == Errc::job_deadline && error.message().starts_with("trainer ");
      if (training_only || !on_their_way) throw;
      log(Level::info, "still waiting: ", error.message());
    }
  }
}

PRDIST_DECL void Client::ask_cut(std::uint64_t step, bool stop) {
  Header header;
  header.kind = Kind::ask_cut;
  header.offset = step;
  header.flags = stop ? flag_stop : 0;
  (void)ask(0, "the wish for a checkpoint", header, {});
}

PRDIST_DECL void Client::met_for_cut(std::uint32_t number) {
  Header header;
  header.kind = Kind::met_for_cut;
  header.offset = number;
  (void)ask(0, "the answer to a wish for a checkpoint", header, {});
}

PRDIST_DECL void Client::cut(std::string_view folder, bool changed_only) {
  call_all(concat("the cut for ", folder), Kind::cut, std::as_bytes(std::span(folder)),
           changed_only ? flag_changed : 0);
}

PRDIST_DECL void Client::shrink(SparseRef const& table, std::uint32_t day) {
  auto const operation = begin(concat("the shrink of table '", table.name, "'"));
  Header header;
  header.kind = Kind::shrink;
  header.table = table.id;
  header.offset = day;
  for (std::size_t server = 0; server < links_.size(); ++server) operation->add(static_cast<std::uint32_t>(server));
  for (std::size_t server = 0; server < links_.size(); ++server) send(server, operation, header, {});
  operation->seal();
  wait(*operation);
}

PRDIST_DECL void Client::keep_cut() {
  call_all("the end of a checkpoint", Kind::keep_cut, {});
}

PRDIST_DECL void Client::load(std::string_view path) {
  call_all(concat("the order to load ", path), Kind::load, std::as_bytes(std::span(path)));
}

PRDIST_DECL std::vector<std::string> Client::wait_for_work() {
  std::vector<std::string> results;
  std::optional<Error> failed;
  for (std::size_t server = 0; server < links_.size(); ++server) {
    auto patience = runtime_.now() + options_.deadline;
    Duration pause = std::chrono::milliseconds(2);
    for (std::uint64_t rows = 0;;) {
      Header header;
      header.kind = Kind::work_state;
      auto state = detail::work_from_json(ask(server, "a look at a server's work", header, {}), links_[server]->name());
      if (state.done) {
        // The others end first: what they are at now would be in the way of the next order.
        if (state.failed && !failed) failed = state.failed;
        results.push_back(std::move(state.result));
        break;
      }
      auto const now = runtime_.now();
      if (state.rows != rows) patience = now + options_.deadline;
      rows = state.rows;
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
  call_all("the end of the steps", Kind::retire, std::as_bytes(std::span(text)));
}

PRDIST_DECL void Client::leave() {
  if (left_) return;
  call_all("the goodbye", Kind::leave, {});
  left_ = true;
  end_life();
  for (auto const& link : links_) link->close(Error(Errc::job_state, "this worker has left the job"));
}

}  // namespace prdist
