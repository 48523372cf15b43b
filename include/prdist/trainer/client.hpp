// SPDX-License-Identifier: Apache-2.0
// A parameter server as a trainer sees it: declare tables, pull rows, push gradients, wait. This is all an engineer
// needs who brings a model of their own; Fleet and distributed_optimizer() stand on it.
//
//   auto table = client.declare(SparseSpec{.name = "emb", .dim = 16, .optimizer = Adagrad{}});
//   client.pull(table, keys, rows).wait();         // rows[i] belongs to keys[i]; equal keys are allowed
//   client.push(table, keys, gradients).wait();
//
// Spans go in and out without a copy where the keys all belong to one server. Calls may come from several threads.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/elastic.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/histogram.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/port_layout.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/spec_json.hpp>
#include <prdist/trainer/cut_wish.hpp>
#include <prdist/trainer/operation.hpp>
#include <prdist/wire/buffer.hpp>
#include <prdist/wire/channel.hpp>
#include <prdist/wire/file_state.hpp>
#include <prdist/wire/texts.hpp>

namespace prdist {

struct ClientOptions {
  std::vector<Endpoint> servers;  ///< the first port of each
  PortLayout ports{};             ///< of each server; rows of sparse tables travel on their own, where there are any
  std::uint32_t trainer = 0;
  std::uint32_t trainers = 1;
  std::optional<Elastic> elastic{};                       ///< trainers of this job may come and go
  Duration deadline = std::chrono::seconds(60);           ///< of every call
  Duration wait_for_servers = std::chrono::seconds(120);  ///< of connect()
  Duration wait_for_disk = std::chrono::minutes(10);      ///< of servers that bring a checkpoint's rows to the disk
  Duration retry_every = std::chrono::seconds(3);         ///< between two tries of connect()
  Duration ping_every = std::chrono::seconds(5);
  std::size_t frame_bytes = 256 * 1024;  ///< larger pulls and pushes travel in several frames
  std::uint64_t max_payload = std::uint64_t{64} << 20;
};

/// A declared sparse table.
struct SparseRef {
  TableId id = 0;
  std::size_t dim = 0;
  std::string name{};
  std::uint32_t link = 0;  ///< which of a server's ports it uses
};

/// A declared dense table.
struct DenseRef {
  TableId id = 0;
  std::size_t size = 0;
  std::string name{};
  std::uint32_t link = 0;  ///< which of a server's ports it uses
};

/// The versions of a table that a pull found, one per server: what the push made from it brings back, so that its
/// staleness can be told.
using Seen = std::vector<std::uint32_t>;

/// Keys of rows that others have changed.
struct Changes {
  std::vector<Key> keys{};
  bool forgotten = false;  ///< some are not known any more: whatever is held may have changed
};

/// What server 0 answers to who asks for the next data file.
struct NextFile {
  enum class What { task, later, over };
  What what = What::over;
  std::uint64_t task = 0;   ///< epoch * files + place in the epoch
  std::string waits_for{};  ///< of `later`: what is in work elsewhere, and may come back
};

/// What server 0 answers to who wants to do something for all.
struct DutyAnswer {
  enum class What { yours, taken, done };
  What what = What::yours;
  std::uint32_t holder = 0;  ///< of `taken`
  std::string text{};        ///< of `done`: what came of it
};

namespace detail {
class Link;

/// A frame for one link, and what was answered.
struct Question {
  std::size_t link = 0;
  Header header{};
};
struct Answer {
  Header header{};
  std::vector<std::byte> payload{};
};
}  // namespace detail

class Client {
 public:
  /// `runtime` must outlive the client.
  Client(Runtime& runtime, Connector connector, ClientOptions options);
  Client(Client const&) = delete;
  Client& operator=(Client const&) = delete;
  /// Without leave() the servers take this trainer for lost.
  ~Client();

  /// Waits until every server answers. @throws Error with a diagnosis per endpoint when the time is up.
  void connect();

  /// Tells every server of a table. @throws Error table.mismatch when another trainer declared it differently.
  [[nodiscard]] SparseRef declare(SparseSpec const& spec);
  [[nodiscard]] DenseRef declare(DenseSpec const& spec);

  /// Fetches rows[i * dim ...] for keys[i]. Keys no one has pushed yet get their first row and are not stored.
  /// `seen`, when given, must stay until the handle is done with.
  Handle pull(SparseRef const& table, std::span<Key const> keys, std::span<float> rows, Seen* seen = nullptr);

  /// Sends one gradient per key; equal keys are applied one after another. `examples` is the weight of this trainer
  /// in a gathered step: there the handle is ready when the step has been applied, and even a trainer without keys
  /// must push.
  Handle push(SparseRef const& table, std::span<Key const> keys, std::span<float const> gradients,
              std::uint32_t examples = 1, Seen const& seen = {}, std::span<float const> show_click = {});

  /// A new day for a table that keeps statistics: shows and clicks decay, and rows go as its declaration says. Returns
  /// when the servers have begun. @throws Error table.mismatch when it keeps none
  void shrink(SparseRef const& table, std::uint32_t day);

  /// The whole dense table.
  Handle pull(DenseRef const& table, std::span<float> weights, Seen* seen = nullptr);
  Handle push(DenseRef const& table, std::span<float const> gradients, std::uint32_t examples = 1,
              Seen const& seen = {});
  /// Overwrites the weights; optimizer state starts anew.
  Handle assign(DenseRef const& table, std::span<float const> weights);

  /// The rows of an adding table that others have changed since this trainer last asked. Some may have been told
  /// before. One thread at a time asks for a table.
  [[nodiscard]] Changes changed(SparseRef const& table);

  /// Thread `lane` of `lanes` has finished `steps` steps. Blocks until nobody in the job is more than `ahead` steps
  /// behind it: true; or false when the servers want it to look whether something else is to be done, and ask again.
  [[nodiscard]] bool tick(std::uint32_t lane, std::uint32_t lanes, std::uint64_t steps, std::uint64_t ahead);
  /// Thread `lane` has no more batches: nobody waits for it.
  void leave_clock(std::uint32_t lane, std::uint32_t lanes);

  /// Blocks until every trainer that has not left is at the barrier of this name, for as long as that takes; says now
  /// and then whom it waits for. @throws Error job.peer_lost when one of them is lost
  void barrier(std::string_view name);

  /// As barrier(), and every trainer learns what each of them brought. With `training_only` those that have retired
  /// are not waited for.
  [[nodiscard]] Texts meet(std::string_view name, std::string_view text, bool training_only = false);

  /// As barrier(), but comes back after a moment to let the caller look whether something else is to be done: false
  /// when not all were there, whom it waits for is in `missing` then.
  [[nodiscard]] bool try_barrier(std::string_view name, std::string& missing);

  /// Wishes for a checkpoint, which every trainer hears of with the next answer of server 0 and meets for when it
  /// has come to step `step`; with `stop` training is to end with it.
  void ask_cut(std::uint64_t step, bool stop);

  /// Everybody has met for the wish of this number, and with `stopped` training ends with it: one that is stated from
  /// now on is a new one.
  void met_for_cut(std::uint32_t number, bool stopped);

  /// Lets every server write the rows of its shards to `folder`, as they are when the call returns: all of them, or
  /// those that have changed since the cut of the name `since`. What is not `to_be_kept`, because no other builds on
  /// it, costs servers nothing any more when it is written. @throws Error job.state when `since` is not the one that
  /// every server has kept last
  void cut(std::string_view folder, std::string_view since = {}, bool to_be_kept = false);

  /// What the cut for `folder` wrote is part of a complete checkpoint; it is called `name` from now on.
  /// @throws Error job.state when another cut came meanwhile
  void keep_cut(std::string_view folder, std::string_view name);

  /// The name of the cut that was kept last, by whomever; empty when there is none, or the servers do not agree.
  [[nodiscard]] std::string kept_cut();

  /// Lets every server load the rows of its shards from the checkpoint at `path`. The tables have been declared.
  void load(std::string_view path);

  /// Waits until the cut or load on every server has ended, as long as they make progress, and when all rows are
  /// through as long as options().wait_for_disk; returns their results.
  /// @throws Error what a server failed with; job.deadline when nothing moves
  std::vector<std::string> wait_for_work();

  /// One thread of this trainer at a time lets the servers save or load: false while another one does.
  [[nodiscard]] bool begin_work() noexcept { return !works_.exchange(true); }
  void end_work() noexcept { works_ = false; }

  /// `work` brings what `owner` still holds to the servers; leave() calls it first. Until forget(owner).
  void before_leaving(void const* owner, std::function<void()> work) { unsent_[owner] = std::move(work); }
  void forget(void const* owner) { unsent_.erase(owner); }

  /// The tables this trainer has declared, in the order it did.
  [[nodiscard]] std::vector<AnySpec> declared() const;

  /// What was heard of such a wish.
  [[nodiscard]] CutWish& cut_wish() noexcept { return *cut_wish_; }

  /// Takes this trainer out of gathered steps, when it has no more batches: the others go on without it. It may
  /// still pull and meet at barriers.
  /// `text` stands for it in later meetings of those that still train.
  void retire(std::string_view text = {});

  /// The next of the job's data files for this trainer; does not wait. What it does not report as done when it leaves
  /// or is lost goes to another. @throws Error config.contradiction when others were asked about another list
  [[nodiscard]] NextFile next_file(FileList const& list);
  /// All that was learned from it, of so many rows, is on the servers.
  void file_done(std::uint64_t task, std::uint64_t rows = 0);
  /// For a checkpoint, and back.
  [[nodiscard]] FileState file_state();
  void restore_files(FileState const& state);

  /// Asks for something that one trainer does for all; does not wait. One that is gone passes it on.
  [[nodiscard]] DutyAnswer ask_duty(std::string_view name);
  /// Somebody else may have it.
  void return_duty(std::string_view name);
  /// It is done; `text` is for those who ask later.
  void finish_duty(std::string_view name, std::string_view text = {});

  /// Tells the servers that this trainer has finished, and closes the connections. With `finished` false it goes
  /// before that: an elastic job waits for others to go on, and servers of any other end as those of a stopped one.
  void leave(bool finished = true);

  [[nodiscard]] ClientOptions const& options() const noexcept { return options_; }
  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }

  /// How many other pushes a server had applied between the pull and the apply of this trainer's pushes to `table`.
  [[nodiscard]] std::shared_ptr<Histogram const> staleness(TableId table) const;

 private:
  friend class Handle;
  friend class detail::Link;
  /// Lets a timer that fires late see that the client is gone.
  struct Life {
    std::mutex mutex;
    bool ended = false;
  };

  [[nodiscard]] std::shared_ptr<detail::Operation> begin(std::string what) const;
  [[nodiscard]] std::size_t server_count() const noexcept { return options_.servers.size(); }
  /// The place in links_ of a server's port.
  [[nodiscard]] std::size_t link_of(std::size_t server, std::uint32_t port = 0) const noexcept {
    return server * options_.ports.total() + port;
  }
  /// Which of the tables of its kind this is, in the order of declaration. Trainers begin at different ports.
  [[nodiscard]] std::size_t place_of(std::string_view name, bool sparse) const;
  /// Waits until the servers have taken what was sent on ports other than the first: what is said there next comes
  /// after it, as it would on one connection.
  void settle_links();
  void send(std::size_t link, std::shared_ptr<detail::Operation> const& operation, Header header,
            std::vector<ConstBytes> out, std::vector<Bytes> in = {}, std::function<void(Header const&)> arrived = {},
            std::shared_ptr<std::vector<std::byte>> whole = nullptr);
  [[nodiscard]] std::shared_ptr<Histogram> measured(TableId table) const;
  void declare_any(AnySpec const& spec);
  /// Sends a frame over each of some links, with the same payload, and waits for all answers.
  std::vector<detail::Answer> ask(std::string what, std::vector<detail::Question> const& questions,
                                  std::vector<ConstBytes> const& payload = {});
  std::vector<detail::Answer> ask_all(std::string what, Header const& header, std::string_view payload = {});
  detail::Answer ask_one(std::size_t server, std::string what, Header const& header,
                         std::vector<ConstBytes> const& payload = {});
  Handle dense(Kind kind, DenseRef const& table, std::span<float const> out, std::span<float> in,
               std::uint32_t examples, Seen const& made_from = {}, Seen* seen = nullptr);
  void split_by_server(detail::Operation& operation, std::span<Key const> keys) const;
  void wait(detail::Operation& operation);
  void give_up(detail::Operation& operation, Error const& error);
  void ping();
  void end_life();
  /// Connects to every server that is not connected, and introduces itself; returns a link of each that is not ready.
  [[nodiscard]] std::vector<std::pair<std::size_t, Error>> greet_servers(TimePoint deadline);
  [[nodiscard]] std::size_t rows_per_frame(SparseRef const& table) const;

  Runtime& runtime_;
  Connector connector_;
  ClientOptions options_;
  Placement placement_;
  BufferPool buffers_;
  std::shared_ptr<CutWish> cut_wish_ = std::make_shared<CutWish>();
  std::vector<std::shared_ptr<detail::Link>> links_;  ///< server by server, one for each of its ports
  std::atomic<std::uint64_t> next_request_ = 1;
  std::shared_ptr<Life> life_ = std::make_shared<Life>();
  TimePoint pinged_{};  // by ping() alone, as the next
  bool said_stop_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<bool> works_ = false;
  std::map<void const*, std::function<void()>> unsent_;
  mutable std::mutex declared_mutex_;
  std::vector<AnySpec> declared_;
  mutable std::mutex measured_mutex_;
  mutable std::map<TableId, std::shared_ptr<Histogram>> measured_;
  std::map<TableId, std::vector<std::uint64_t>> heard_;  ///< per server, the last change of rows we were told of
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/trainer/client.ipp>
#include <prdist/trainer/client_job.ipp>
#endif
