// SPDX-License-Identifier: Apache-2.0
// Fleet: the ten lines that turn a program into a server and a worker of a parameter-server job.
//
//   Fleet<Strategy<Async>, Transport<Tcp>> fleet{roles_from_env()};
//   auto optimizer = fleet.distributed_optimizer(Adam{.rate = 1e-3F});
//   if (fleet.is_server()) { fleet.init_server(); return fleet.run_server(); }
//   fleet.init_worker();
//   for (auto const& batch : batches) optimizer.minimize(model, batch);
//   fleet.stop_worker();
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/concepts/policy.hpp>
#include <prdist/concepts/strategy.hpp>
#include <prdist/concepts/transport.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/data/split_files.hpp>
#include <prdist/device/cpu.hpp>
#include <prdist/fleet/all_reduce.hpp>
#include <prdist/fleet/checkpointer.hpp>
#include <prdist/fleet/dispatched_files.hpp>
#include <prdist/fleet/distributed_optimizer.hpp>
#include <prdist/fleet/elastic_checkpoints.hpp>
#include <prdist/fleet/options.hpp>
#include <prdist/fleet/roles.hpp>
#include <prdist/server/server.hpp>
#include <prdist/strategy/async.hpp>
#include <prdist/trainer/client.hpp>
#include <prdist/transport/beast.hpp>
#include <prdist/version.hpp>

namespace prdist {

/// Policies in any order; what is not named is Strategy<Async>, Transport<Beast>, Device<Cpu>.
template <policy... Policies>
class Fleet {
  static_assert(count_on<axis::strategy, Policies...> <= 1, "prdist::Fleet: Strategy<...> was given twice");
  static_assert(count_on<axis::transport, Policies...> <= 1, "prdist::Fleet: Transport<...> was given twice");
  static_assert(count_on<axis::device, Policies...> <= 1, "prdist::Fleet: Device<...> was given twice");

 public:
  using StrategyChoice = pick<axis::strategy, Async, Policies...>;
  using TransportChoice = pick<axis::transport, Beast, Policies...>;
  using DeviceChoice = pick<axis::device, Cpu, Policies...>;

  /// Choices that carry values (Async{.send_queue_size = 4}, Memory{hub}, FleetOptions{...}) follow the roles in any
  /// order; without FleetOptions they come from the environment.
  /// @throws Error config.invalid when the environment holds something else than a number, config.contradiction when
  /// the job is elastic and the strategy cannot be
  template <class... Values>
  explicit Fleet(Roles roles, Values... values)
      : roles_(std::move(roles)),
        strategy_(take<StrategyChoice>(Made{}, values...)),
        transport_(take<TransportChoice>(Made{}, values...)),
        device_(take<DeviceChoice>([this](auto wanted) { return device_of_role(wanted); }, values...)),
        options_(take<FleetOptions>([](auto) { return options_from_env(); }, values...)) {
    static_assert((is_value<Values> && ...), "prdist::Fleet: a value that belongs to none of its policies");
    if constexpr (!requires { StrategyChoice::elastic; }) {
      if (roles_.elastic) {
        throw Error(Errc::config_contradiction, "PRDIST_ELASTIC='", to_string(*roles_.elastic), "' with strategy ",
                    StrategyChoice::name,
                    ", whose steps depend on how many trainers there are: use async or half_async, or let the launcher "
                    "end the job and start it anew from its checkpoint when its trainers change");
      }
    }
    log(Level::info, "prdist ", version, ' ', StrategyChoice::name, '/', TransportChoice::name, '/', DeviceChoice::name,
        is_server() ? " server " : " worker ", roles_.index, '/', is_server() ? roles_.servers.size() : roles_.workers,
        is_server() ? " workers " : " servers ", is_server() ? roles_.workers : roles_.servers.size());
  }

  Fleet(Fleet const&) = delete;
  Fleet& operator=(Fleet const&) = delete;

  ~Fleet() {
    // While an exception passes through, what it says is the reason; this would only stand in front of it.
    if (client_ && !stopped_ && std::uncaught_exceptions() == 0) {
      log(Level::warning, "worker ", roles_.index, " ends without stop_worker(): the servers will take it for lost");
    }
  }

  [[nodiscard]] bool is_server() const noexcept { return roles_.role == Role::server; }
  [[nodiscard]] bool is_worker() const noexcept { return roles_.role == Role::worker; }
  [[nodiscard]] Roles const& roles() const noexcept { return roles_; }

  // The names that Paddle's users know. An index is that of this process among its kind.
  [[nodiscard]] bool is_first_worker() const noexcept { return is_worker() && roles_.index == 0; }
  [[nodiscard]] std::uint32_t worker_num() const noexcept { return roles_.workers; }
  [[nodiscard]] std::uint32_t server_num() const noexcept { return static_cast<std::uint32_t>(roles_.servers.size()); }
  /// @throws Error job.state in a server
  [[nodiscard]] std::uint32_t worker_index() const {
    if (!is_worker()) throw Error(Errc::job_state, "worker_index() in a server: ask is_worker() first");
    return roles_.index;
  }
  /// @throws Error job.state in a worker
  [[nodiscard]] std::uint32_t server_index() const {
    if (!is_server()) throw Error(Errc::job_state, "server_index() in a worker: ask is_server() first");
    return roles_.index;
  }
  [[nodiscard]] std::vector<std::string> server_endpoints() const {
    std::vector<std::string> endpoints;
    for (auto const& endpoint : roles_.servers) endpoints.push_back(to_string(endpoint));
    return endpoints;
  }
  /// As PADDLE_TRAINER_ENDPOINTS has them; none when the launcher does not say.
  [[nodiscard]] std::vector<std::string> const& worker_endpoints() const noexcept { return roles_.worker_endpoints; }

  /// This worker's share of the files: contiguous blocks, the first workers get one more. @throws Error job.state
  /// in a server
  [[nodiscard]] std::vector<std::string> split_files(std::vector<std::string> const& files) const {
    if (!is_worker()) throw Error(Errc::job_state, "split_files() in a server: only workers read files");
    if (roles_.elastic) {
      throw Error(Errc::job_state,
                  "split_files() in an elastic job, where the share of one that leaves would be read by "
                  "nobody: use dispatched_files()");
    }
    if (files.size() < roles_.workers && is_first_worker()) {
      log(Level::warning, files.size(), files.size() == 1 ? " file for " : " files for ", roles_.workers,
          " workers: ", roles_.workers - files.size(), " of them have none");
    }
    return prdist::split_files(files, roles_.workers, roles_.index).value();
  }

  /// The files, handed out one by one to whichever worker asks next; see DispatchedFiles. All bring the same list.
  /// @throws Error job.state before init_worker()
  [[nodiscard]] DispatchedFiles dispatched_files(std::vector<std::string> files, DispatchOptions options = {}) {
    return {client(), std::move(files), options};
  }

  /// Calls `work`, which returns a text, in one worker of those that come here, whoever is first: for what
  /// is_first_worker() does in a job whose first worker stays. The others wait and get the text; when that worker is
  /// lost, another does it.
  template <class Work>
  std::string once(std::string_view name, Work&& work) {
    return prdist::once(client(), name, work);
  }

  /// One rule for all tables, or one each for sparse and dense ones. The optimizer must not outlive the fleet.
  [[nodiscard]] auto distributed_optimizer(Optimizer const& rule) {
    return distributed_optimizer(Optimizers{rule, rule});
  }
  [[nodiscard]] auto distributed_optimizer(Optimizers rules) {
    return DistributedOptimizer<StrategyChoice, DeviceChoice>(client_, rules, strategy_, device_, options_.seed,
                                                              options_.staleness);
  }

  /// Begins to listen. @throws Error transport.in_use and others
  void init_server() {
    if (!is_server()) throw Error(Errc::job_state, "init_server() in a worker: ask is_server() first");
    auto const& own = roles_.servers.at(roles_.index);
    auto const here = std::ranges::count(roles_.servers, own.host, &Endpoint::host);
    auto const memory =
        options_.server_memory != 0 ? options_.server_memory : default_server_memory(static_cast<std::size_t>(here));
    server_ = std::make_shared<Server>(runtime_, ServerOptions{
                                                     .index = roles_.index,
                                                     .servers = static_cast<std::uint32_t>(roles_.servers.size()),
                                                     .trainers = roles_.workers,
                                                     .threads = options_.server_threads,
                                                     .memory = memory,
                                                     .lost_after = options_.lost_after,
                                                     .wait_for_trainers = options_.wait_for_workers,
                                                     .elastic = roles_.elastic,
                                                     .elastic_timeout = options_.elastic_timeout,
                                                 });
    server_->start();
    auto listener = transport_.listen(
        {own, roles_.listen_descriptor,
         [server = server_](std::string_view path, std::function<void(Page)> answer) {
           server->page(path, std::move(answer));
         }},
        [server = server_](std::shared_ptr<Connection> const& connection) { return server->accept(connection); });
    if (!listener) {
      throw Error(listener.error().code(), "server ", roles_.index, ": ", listener.error().message());
    }
    listener_ = std::move(*listener);
    auto const at = listener_->endpoint();
    log(Level::info, "Server listening on ", to_string(at), " selected port: ", at.port);
  }

  /// Serves until every worker has stopped. Returns the process's exit code: 0, or 75 when a worker was lost.
  [[nodiscard]] int run_server() {
    if (!server_) throw Error(Errc::job_state, "run_server() before init_server()");
    auto const code = server_->wait();
    listener_.reset();
    return code;
  }

  /// Waits for the servers and connects to all of them. @throws Error with a diagnosis per endpoint
  void init_worker() {
    if (!is_worker()) throw Error(Errc::job_state, "init_worker() in a server: ask is_worker() first");
    if (client_) throw Error(Errc::job_state, "init_worker() was called already");
    ClientOptions options;
    options.servers = roles_.servers;
    options.ports = roles_.ports;
    options.trainer = roles_.index;
    options.trainers = roles_.workers;
    options.elastic = roles_.elastic;
    options.deadline = options_.deadline;
    options.wait_for_servers = options_.wait_for_servers;
    options.wait_for_disk = options_.wait_for_disk;
    options.retry_every = options_.retry_every;
    client_.emplace(
        runtime_,
        [this](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink, Duration timeout) {
          return transport_.connect(endpoint, std::move(sink), timeout);
        },
        std::move(options));
    try {
      client_->connect();
    } catch (...) {
      client_.reset();  // it may be tried again
      throw;
    }
  }

  /// Tells the servers that this worker has finished. What an optimizer still holds (pushes under way, merged
  /// gradients, differences of its own copy) arrives first.
  void stop_worker() {
    client().leave();
    stopped_ = true;
  }

  /// Tells the servers that this worker goes before the work is finished: an elastic job goes on without it, and what
  /// it had in hand goes to others; servers of any other job end with 143. What an optimizer still holds arrives first.
  void leave_worker() {
    client().leave(false);
    stopped_ = true;
  }

  /// Waits for all workers that have not stopped; in an elastic job, for those that are there.
  void barrier(std::string_view name = "barrier") { client().barrier(name); }

  /// The sum, minimum or maximum of every worker's numbers, the same in all of them. Workers that may be at different
  /// calls give them different names.
  [[nodiscard]] std::vector<double> all_reduce(std::span<double const> values, Reduce how = Reduce::sum,
                                               std::string_view name = "all_reduce") {
    return prdist::all_reduce(client(), name, values, how);
  }

  /// Lets the servers write all tables to `directory`/pass-NNNNN, each its own shards, and waits for it. One worker
  /// calls it, the others may train on. Returns the path of the checkpoint; Checkpointer makes those that a job can
  /// resume from without losing a row. @throws Error checkpoint.*
  std::string save_persistables(std::string const& directory) {
    return save_checkpoint(client(), directory, StrategyChoice::name);
  }

  /// The weights for inference, as one file that numpy.load() reads: dense parts by name, and of each sparse table
  /// NAME.keys and NAME.rows. One worker calls it. @throws Error checkpoint.*
  void save_inference_model(std::string const& path) { export_model(client(), path, StrategyChoice::name); }

  /// A new day for every table that keeps statistics: shows and clicks decay, rows that are unseen or of too small a
  /// score go. One worker calls it. @throws Error job.state when no table keeps any
  void shrink(std::uint32_t day) { shrink_tables(client(), day); }

  /// Checkpoints that this job can be resumed from; see Checkpointer. Both must outlive it.
  template <class OfModel>
  [[nodiscard]] Checkpointer checkpointer(OfModel& optimizer, CheckpointOptions options) {
    OwnCopy copy;
    if constexpr (StrategyChoice::apply == ApplyRule::add) {
      if (optimizer.keeps_state()) {
        copy = {[&optimizer](PartWriter& to) { optimizer.save_copy(to); },
                [&optimizer](PartReader const& from) { optimizer.load_copy(from); }};
      }
    }
    return Checkpointer(
        client(), std::move(options), StrategyChoice::name, StrategyChoice::apply == ApplyRule::gather,
        [&optimizer] { optimizer.settle(); }, std::move(copy), [&optimizer] { return optimizer.keep_up(); });
  }

  /// The same for a job whose workers come and go.
  [[nodiscard]] ElasticCheckpoints elastic_checkpoints(CheckpointOptions options) {
    return {client(), std::move(options), StrategyChoice::name};
  }

  /// Loads the newest checkpoint in `path`, or the one that `path` is, into tables that are declared. Any number of
  /// servers may have written it. One worker calls it before training. @throws Error checkpoint.*, table.mismatch
  void load(std::string const& path) { load_checkpoint(client(), path); }

  /// Tables, pull and push, for programs that bring a model of their own. @throws Error job.state
  [[nodiscard]] Client& client() {
    if (!client_) throw Error(Errc::job_state, "there is no connection to the servers: call init_worker() first");
    return *client_;
  }

 private:
  template <class Value>
  static constexpr bool is_value = std::is_same_v<Value, StrategyChoice> || std::is_same_v<Value, TransportChoice> ||
                                   std::is_same_v<Value, DeviceChoice> || std::is_same_v<Value, FleetOptions>;

  /// The value of type `Wanted` among `values`, else what `otherwise` makes.
  template <class Wanted, class Otherwise, class... Values>
  static auto take(Otherwise&& otherwise, Values&... values) {
    if constexpr ((std::is_same_v<Wanted, Values> || ...)) {
      return std::get<Wanted&>(std::tie(values...));
    } else {
      return otherwise(std::type_identity<Wanted>{});
    }
  }

  struct Made {
    template <class Choice>
    Choice operator()(std::type_identity<Choice>) const {
      static_assert(std::is_default_constructible_v<Choice>,
                    "prdist::Fleet: this policy needs a value, for example Fleet{roles, Memory{hub}}");
      return Choice{};
    }
  };

  /// A worker without its GPU is to hear so at once; a server needs no device.
  template <class Choice>
  [[nodiscard]] std::optional<Choice> device_of_role(std::type_identity<Choice> wanted) const {
    if (is_worker()) return Made{}(wanted);
    return std::nullopt;
  }

  Roles roles_;
  StrategyChoice strategy_;
  TransportChoice transport_;
  std::optional<DeviceChoice> device_;
  FleetOptions options_;
  SystemRuntime runtime_;
  std::shared_ptr<Server> server_;
  std::unique_ptr<Listener> listener_;  // ends before the server whose connections it holds
  std::optional<Client> client_;
  bool stopped_ = false;
};

}  // namespace prdist
