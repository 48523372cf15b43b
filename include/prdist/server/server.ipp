// SPDX-License-Identifier: Apache-2.0
// Definitions of server/server.hpp.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <prdist/core/stop_signal.hpp>
#include <prdist/server/server.hpp>
#include <prdist/server/session.ipp>
#include <prdist/table/spec_json.ipp>
#include <prdist/version.hpp>

namespace prdist {

namespace detail {

/// `{"mean": 1.2, "max": 7, "dropped": 0, "histogram": {"0": 12, "1": 30, "3-4": 2}}`
inline boost::json::object json_of(Versions const& versions) {
  auto const& staleness = versions.staleness();
  boost::json::object histogram;
  for (std::size_t bucket = 0; bucket < Histogram::buckets; ++bucket) {
    if (auto const count = staleness.in_bucket(bucket)) histogram[Histogram::label_of(bucket)] = count;
  }
  return {{"mean", staleness.mean()},
          {"max", staleness.most()},
          {"dropped", versions.drops()},
          {"histogram", std::move(histogram)}};
}

}  // namespace detail

PRDIST_DECL Server::Server(Runtime& runtime, ServerOptions const& options)
    : runtime_(runtime),
      options_(options),
      placement_(options.servers),
      started_(runtime.now()),
      trainers_(options.trainers, options.elastic),
      meetings_([this](Attendance attendance) {
        return attendance == Attendance::training ? trainers_.training() : trainers_.members();
      }),
      clocks_(options.trainers),
      engine_(placement_, options.index, options.threads, trainers_.count(), options.memory),
      saving_(engine_, catalog_, placement_, options.index) {}

PRDIST_DECL void Server::start() {
  // Often enough that a step with a deadline of a few seconds is explained before the trainer gives up.
  runtime_.after(std::chrono::milliseconds(250), [weak = weak_from_this()] {
    if (auto const self = weak.lock()) {
      self->tick();
      self->start();
    }
  });
}

PRDIST_DECL std::shared_ptr<FrameSink> Server::accept(std::shared_ptr<Connection> const& connection,
                                                      std::shared_ptr<Port> port) {
  auto session = std::make_shared<detail::Session>(*this, connection, std::move(port));
  std::lock_guard const lock(sessions_mutex_);
  std::erase_if(sessions_, [](auto const& weak) { return weak.expired(); });
  sessions_.push_back(session);
  return session;
}

PRDIST_DECL std::vector<std::shared_ptr<detail::Session>> Server::living_sessions() {
  std::vector<std::shared_ptr<detail::Session>> sessions;
  std::lock_guard const lock(sessions_mutex_);
  for (auto const& weak : sessions_) {
    if (auto session = weak.lock()) sessions.push_back(std::move(session));
  }
  return sessions;
}

PRDIST_DECL void Server::tick() {
  auto const now = runtime_.now();
  for (auto const& session : living_sessions()) session->check_silence(now);

  if (job_is_over()) {
    // Trainers close their connections when they have heard the answer to their goodbye; one that does not is not
    // waited for.
    if (!over_since_) over_since_ = now;
    if (now - *over_since_ > std::chrono::seconds(3)) over_.open();
  }

  if (StopSignal::requested()) call_.end_soon();
  if (StopSignal::is_new()) log(Level::info, "server ", options_.index, asked_to_stop, StopSignal::name());
  meetings_.tell_overdue(now);
  if (auto overdue = engine_.take_waiting(now); !overdue.empty()) tell_overdue(std::move(overdue));
  clocks_.overdue(now);
  if (options_.elastic) return watch_elastic(now);
  if (call_.ending()) end_before_training();
  if (!ended_early_) wait_for_expected(now);
}

PRDIST_DECL void Server::end_before_training() {
  auto const expected = trainers_.expected();
  auto const tables = catalog_.all();
  if (expected.empty() ||
      std::ranges::any_of(tables, [](auto const& it) { return it.second->versions->pushes() != 0; })) {
    return;
  }
  Error const why(Errc::job_stopped, "server ", options_.index, ": the job was asked to stop before trainers ",
                  list_of(expected), " of ", options_.trainers, " had come: nothing was trained");
  if (!ended_early_.exchange(true)) log(Level::info, why.message());
  meetings_.fail(why);
  end_if_over();
}

PRDIST_DECL void Server::watch_elastic(TimePoint now) {
  auto const& range = *options_.elastic;
  auto const here = trainers_.here();
  if (here.size() >= range.min || trainers_.finished() || StopSignal::requested()) {
    too_few_since_.reset();
    return;
  }
  bool const new_shortage = !too_few_since_;
  if (new_shortage) {
    too_few_since_ = now;
    said_waiting_ = Duration{0};
  }
  auto const waited = now - *too_few_since_;
  auto const begun = trainers_.begun();
  auto const patience = begun ? options_.elastic_timeout : options_.wait_for_trainers;
  auto const lost = trainers_.lost();
  auto const text = concat("server ", options_.index, ": ", here.size(), " trainers (", list_of(here), ") where ",
                           range.min, " to ", range.max, " are wanted", lost.empty() ? "" : ", lost: ", list_of(lost));
  if (waited >= patience && !gave_up_.exchange(true)) {
    log(Level::error, text, ", for ", seconds(patience), " s: giving up");
    over_.open();
  } else if (waited - said_waiting_ >= std::chrono::seconds(30) || (new_shortage && begun)) {
    said_waiting_ = waited;
    log(Level::info, text, ": waiting for others");
  }
}

PRDIST_DECL void Server::wait_for_expected(TimePoint now) {
  if (auto const expected = trainers_.expected(); !expected.empty()) {
    auto const waited = now - started_;
    if (waited >= options_.wait_for_trainers) {
      log(Level::error, "server ", options_.index, ": trainers ", list_of(expected), " of ", options_.trainers,
          " have not come within ", seconds(options_.wait_for_trainers), " s: giving up");
      for (auto const trainer : expected) {
        if (trainers_.join(trainer, "nowhere") && trainers_.lose(trainer)) {
          on_lost(trainer, Error(Errc::job_deadline, "it never came"));
        }
      }
      end_if_over();
    } else if (waited - said_waiting_ >= std::chrono::seconds(30)) {
      said_waiting_ = waited;
      log(Level::info, "server ", options_.index, ": waiting for trainers ", list_of(expected), " of ",
          options_.trainers);
    }
  }
}

PRDIST_DECL std::string Server::table_name(TableId table) const {
  auto const info = catalog_.find(table);
  return info ? name_of(info->spec) : std::string("?");
}

PRDIST_DECL void Server::tell_overdue(std::vector<Engine::Waiting> overdue) {
  struct Told {
    std::vector<Engine::Waiting> overdue;
    std::mutex mutex;
    std::map<TableId, std::set<std::uint32_t>> missing;
  };
  auto const told = std::make_shared<Told>();
  told->overdue = std::move(overdue);
  engine_.read(
      [told](ShardGroup const& group) {
        std::lock_guard const lock(told->mutex);
        for (auto const& it : told->overdue) {
          for (auto const trainer : group.missing(it.table)) told->missing[it.table].insert(trainer);
        }
      },
      [told, this](Error const*) {
        for (auto const& it : told->overdue) {
          auto const& missing = told->missing[it.table];
          auto const who = concat("server ", options_.index, ": ");
          auto const name = table_name(it.table);
          Error const error =
              missing.empty()
                  ? Error(Errc::job_deadline, who, "a push to table '", name,
                          "' could not be applied in time: the server is overloaded: use more servers or threads")
                  : Error(Errc::job_deadline, who, "a step of table '", name, "' is not complete: trainers ",
                          list_of({missing.begin(), missing.end()}),
                          " have not pushed their part: look at their logs; a trainer that has no more batches calls "
                          "finish()");
          it.done(&error);
        }
      });
}

PRDIST_DECL Error Server::lost_error(std::string_view waiting_for) const {
  return Error(Errc::job_peer_lost, "server ", options_.index, ": trainer ", list_of(trainers_.lost()), " is lost and ",
               waiting_for, " waits for it in vain: see its log, then start the job anew");
}

PRDIST_DECL void Server::on_lost(std::uint32_t trainer, Error const& why) {
  if (ended_early_) return;  // it was told to go
  log(Level::error, "server ", options_.index, ": trainer ", trainer, " is lost: ", why.what(),
      why.code() == Errc::transport_closed ? " before stop_worker(): see its log" : "");
  // One of its connections is enough to lose it: nothing may come on the others any more.
  for (auto const& session : living_sessions()) session->end_if_of(trainer);
  hand_over(trainer);
  clocks_.leave(trainer);
  if (options_.elastic) return meetings_.release();
  // What an adding table keeps for it to hear of; in a gathered step it is missed, and said so below.
  if (!catalog_.any_gathers()) engine_.apply(Leave{trainer}, std::nullopt, [](Error const*) {});
  meetings_.fail(lost_error("a meeting"));
  if (!catalog_.any_gathers()) return;
  for (auto const& it : engine_.take_waiting(std::nullopt)) {
    auto const error = lost_error(concat("a step of table '", table_name(it.table), "'"));
    it.done(&error);
  }
}

PRDIST_DECL void Server::hand_over(std::uint32_t trainer) {
  duties_.release(trainer);
  if (auto const files = files_.give_back(trainer); files != 0) {
    log(Level::info, "server ", options_.index, ": ", files, " files of trainer ", trainer, " are handed out again");
  }
}

PRDIST_DECL bool Server::job_is_over() const {
  return ended_early_ || trainers_.over() || (options_.elastic && StopSignal::requested() && trainers_.here().empty());
}

PRDIST_DECL void Server::end_if_over() {
  if (!job_is_over()) return;
  std::lock_guard const lock(sessions_mutex_);
  for (auto const& weak : sessions_) {
    if (auto const session = weak.lock(); session && session->open()) return;
  }
  over_.open();
}

PRDIST_DECL int Server::wait() {
  // Woken by the last trainer; the loop only bounds a single wait.
  while (!runtime_.wait(over_, runtime_.now() + std::chrono::hours(1))) {
  }
  if (stopped_) return 143;
  if (ended_early_) return StopSignal::exit_code();
  auto const lost = trainers_.lost();
  if (gave_up_) return exit_code(Errc::job_deadline);
  if (options_.elastic) {
    log(Level::info, "server ", options_.index, ": the trainers have ", trainers_.finished() ? "finished" : "left",
        lost.empty() ? "" : ", without those that were lost: ", list_of(lost));
    return StopSignal::requested() ? StopSignal::exit_code() : 0;
  }
  if (!lost.empty()) {
    log(Level::error, "server ", options_.index, ": ends without trainers ", list_of(lost), ", which were lost");
    return exit_code(Errc::job_peer_lost);
  }
  bool const early = trainers_.unfinished();
  log(Level::info, "server ", options_.index, ": all ", options_.trainers, " trainers have ",
      early ? "left before the work was finished" : "stopped");
  return early || StopSignal::requested() ? StopSignal::exit_code() : 0;
}

PRDIST_DECL void Server::stop() {
  stopped_ = true;
  over_.open();
}

PRDIST_DECL void Server::page(std::string_view path, std::function<void(Page)> answer) {
  if (path == "/healthz") {
    boost::json::object said{
        {"status", "ok"},
        {"release", version},
        {"server", options_.index},
        {"servers", options_.servers},
        {"trainers",
         {{"expected", options_.trainers}, {"connected", trainers_.here().size()}, {"lost", trainers_.lost().size()}}}};
    if (options_.elastic) said["elastic"] = to_string(*options_.elastic);
    if (auto const files = files_.state(); files.list.files != 0) {
      said["files"] = {
          {"all", files.list.tasks()}, {"done", files.next - files.open.size()}, {"in_work", files_.in_work()}};
    }
    return answer({200, boost::json::serialize(said)});
  }
  if (path != "/v1/tables") {
    return answer({404, R"({"error":"no such page","pages":["/healthz","/v1/tables"]})"});
  }
  struct Count {
    std::mutex mutex;
    std::map<TableId, std::size_t> rows;
    std::map<TableId, std::uint64_t> evicted;
    std::size_t bytes = 0;
  };
  auto const count = std::make_shared<Count>();
  auto const tables = catalog_.all();
  engine_.read(
      [count, tables](ShardGroup const& group) {
        std::lock_guard const lock(count->mutex);
        for (auto const& [id, info] : tables) {
          count->rows[id] += group.rows(id);
          count->evicted[id] += group.evicted(id);
        }
        count->bytes += group.bytes();
      },
      [count, tables, answer = std::move(answer)](Error const*) {
        boost::json::array list;
        for (auto const& [id, info] : tables) {
          auto object = std::visit([](auto const& spec) { return detail::json_of(spec); }, info->spec);
          if (info->sparse() != nullptr) {
            object["rows"] = count->rows[id];
            object["evicted"] = count->evicted[id];
          } else {
            object["size"] = info->dense()->size();
            object["here"] = info->starts.back();
          }
          object["pushes"] = info->versions->pushes();
          object["staleness"] = detail::json_of(*info->versions);
          list.push_back(std::move(object));
        }
        answer(
            {200, boost::json::serialize(boost::json::object{{"tables", std::move(list)}, {"bytes", count->bytes}})});
      });
}

}  // namespace prdist
