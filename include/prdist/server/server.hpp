// SPDX-License-Identifier: Apache-2.0
// A parameter server without its sockets: it is handed connections, answers their frames, and says when the job is
// over. One server serves every strategy, because what a push does is declared with the table.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/elastic.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/server/catalog.hpp>
#include <prdist/server/clocks.hpp>
#include <prdist/server/cut_call.hpp>
#include <prdist/server/duties.hpp>
#include <prdist/server/engine.hpp>
#include <prdist/server/file_queue.hpp>
#include <prdist/server/meetings.hpp>
#include <prdist/server/port.hpp>
#include <prdist/server/saving.hpp>
#include <prdist/server/trainers.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/wire/buffer.hpp>
#include <prdist/wire/channel.hpp>

namespace prdist {

struct ServerOptions {
  std::uint32_t index = 0;
  std::uint32_t servers = 1;
  std::uint32_t trainers = 1;
  unsigned threads = 1;                                   ///< 0: on the thread that brings the frame
  std::uint64_t max_payload = std::uint64_t{64} << 20;    ///< of one frame, either way
  std::size_t memory = no_ceiling;                        ///< of all tables, bytes; beyond it rows go or pushes fail
  Duration hello_within = std::chrono::seconds(10);       ///< a peer that says nothing is sent away
  Duration lost_after = std::chrono::seconds(60);         ///< a trainer that is silent for so long is given up
  Duration wait_for_trainers = std::chrono::minutes(30);  ///< until all have come for the first time
  std::optional<Elastic> elastic{};                       ///< trainers may come and go; see docs/elastic.md
  Duration elastic_timeout = std::chrono::seconds(120);   ///< with fewer than the least of them
};

namespace detail {
class Session;
class SessionBase;
class SessionJob;
}  // namespace detail

class Server : public std::enable_shared_from_this<Server> {
 public:
  /// `runtime` must outlive the server.
  Server(Runtime& runtime, ServerOptions const& options);

  /// Starts the timers. Call once, when the server is in a shared_ptr.
  void start();

  /// The receiving end of a new connection. `port`, when given, is where it came in, and counts what it carries.
  [[nodiscard]] std::shared_ptr<FrameSink> accept(std::shared_ptr<Connection> const& connection,
                                                  std::shared_ptr<Port> port = nullptr);

  /// `/healthz` and `/v1/tables`, for people and probes. Answers at once or from a thread of the engine.
  void page(std::string_view path, std::function<void(Page)> answer);

  /// Blocks until every trainer has stopped or is lost, or stop() was called. Returns the exit code: 0, 75 when a
  /// trainer was lost, that of a StopSignal when one has come, to this server (until then the trainers are asked to
  /// save and stop) or to another process of the job, so that trainers have left before the work was finished. In an
  /// elastic job 75 only when too few trainers were there for too long.
  [[nodiscard]] int wait();

  /// Lets every thread that waits for slower ones ask again, because something else comes before its next step.
  void release_clocks() { clocks_.look_again(); }

  /// Ends wait() early, for Ctrl-C: exit code 143. Any thread.
  void stop();

 private:
  friend class detail::Session;
  friend class detail::SessionBase;
  friend class detail::SessionJob;

  void tick();
  /// Looks after the number of trainers of an elastic job.
  void watch_elastic(TimePoint now);
  /// Asked to stop while trainers are missing and nothing was learned: there is nothing to wait for, or to save.
  void end_before_training();
  void wait_for_expected(TimePoint now);
  [[nodiscard]] bool job_is_over() const;
  void end_if_over();
  /// What the trainer had in hand goes to others.
  void hand_over(std::uint32_t trainer);
  void on_lost(std::uint32_t trainer, Error const& why);
  [[nodiscard]] std::vector<std::shared_ptr<detail::Session>> living_sessions();
  [[nodiscard]] Error lost_error(std::string_view waiting_for) const;
  [[nodiscard]] std::string table_name(TableId table) const;
  /// Tells pushes whose time is up whom their step waits for.
  void tell_overdue(std::vector<Engine::Waiting> overdue);

  Runtime& runtime_;
  ServerOptions options_;
  Placement placement_;
  TimePoint started_;
  BufferPool buffers_;
  Catalog catalog_;
  Trainers trainers_;
  Meetings meetings_;
  CutCall call_;
  Clocks clocks_;
  FileQueue files_;
  Duties duties_;
  std::mutex sessions_mutex_;
  std::vector<std::weak_ptr<detail::Session>> sessions_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> gave_up_ = false;  // of an elastic job: too few for too long
  std::atomic<bool> ended_early_ = false;
  std::optional<TimePoint> over_since_;  // these are the timer's alone
  std::optional<TimePoint> too_few_since_;
  Duration said_waiting_{0};
  Gate over_;
  Engine engine_;  // its threads end before what they use
  Saving saving_;  // and what uses them before that
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/server/server.ipp>
#endif
