// SPDX-License-Identifier: Apache-2.0
// minimize() and train(): steps of a model whose parameters live on the servers. The strategy decides in which order
// a step pulls, computes, pushes and waits; this class knows how each of these is done.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/concepts/model.hpp>
#include <prdist/concepts/strategy.hpp>
#include <prdist/core/diverged.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/fleet/batch_feed.hpp>
#include <prdist/fleet/flight.hpp>
#include <prdist/fleet/geo_copy.hpp>
#include <prdist/fleet/model_tables.hpp>
#include <prdist/fleet/options.hpp>
#include <prdist/fleet/split_step.hpp>
#include <prdist/fleet/trainer_lane.hpp>
#include <prdist/trainer/client.hpp>
#include <prdist/trainer/meeting.hpp>
#include <prdist/trainer/team.hpp>

namespace prdist {

template <strategy_policy StrategyChoice, device_policy DeviceChoice>
class DistributedOptimizer {
 public:
  /// Made by Fleet::distributed_optimizer(). `client` is looked at when it is needed: it exists after init_worker().
  DistributedOptimizer(std::optional<Client>& client, Optimizers optimizers, StrategyChoice strategy,
                       std::optional<DeviceChoice> device, std::uint64_t seed, StalenessBound staleness = {})
      : client_(client),
        optimizers_(std::move(optimizers)),
        strategy_(std::move(strategy)),
        device_(std::move(device)),
        seed_(seed),
        staleness_(staleness) {}
  DistributedOptimizer(DistributedOptimizer const&) = delete;
  DistributedOptimizer& operator=(DistributedOptimizer const&) = delete;
  ~DistributedOptimizer() {
    if (client_) client_->forget(this);
  }

  /// Declares the model's tables to the servers, as the first step would: what is to be loaded must be declared.
  /// @throws Error job.state before init_worker() or for another model than the first
  template <class Model>
  void prepare(Model const& model) {
    std::lock_guard const lock(prepare_mutex_);
    if (!tables_) {
      (void)client();  // a server has none, and no device either
      tables_ = std::make_unique<ModelTables>(
          ModelTables::declare(client(), model, optimizers_, StrategyChoice::apply, seed_, staleness_));
      if constexpr (local) copy_ = std::make_unique<GeoCopy>(client(), *tables_, optimizers_);
      client().before_leaving(this, [this] { settle(); });
    } else {
      tables_->check_same(model);
    }
    while (lanes_.size() < threads_) add_lane();
    if (!meeting_) {
      meeting_ = std::make_unique<Meeting>(client().runtime());
      for (std::size_t lane = 0; lane < threads_; ++lane) meeting_->join(lane);
    }
  }

  /// One step on one batch; returns the batch's mean loss before it. The first call declares the model's tables, so
  /// all steps of an optimizer are of one model. A step whose loss is no finite number pushes nothing.
  /// @throws Error job.state before init_worker(), job.diverged, and whatever a server or the network has to say
  template <class Model, class Batch>
  requires trainable<Model, Batch>
  double minimize(Model& model, Batch const& batch) { return minimize(model, batch, 0); }

  /// The same for one of several threads, `lane` of use_threads(); each brings a model of its own. `following` is the
  /// batch of this thread's next call, when it is known by now. @throws Error job.state when that brings another
  template <class Model, class Batch>
  requires trainable<Model, Batch>
  double minimize(Model& model, Batch const& batch, std::size_t lane, Batch const* following = nullptr) {
    prepare(model);
    if (!lane_of(lane).keep_up()) {
      throw Error(Errc::job_state,
                  "minimize() while a checkpoint is wanted and others are behind: with ssp call between_steps(), or "
                  "due() until it says no, between two steps");
    }
    StepOf<Model, Batch> step(*this, lane, model, batch, following);
    strategy_.step(step);
    ++lane_of(lane).steps;
    return step.loss;
  }

  /// One step on one batch, cut into `parts` that are computed by as many threads as there are models. The parts'
  /// gradients are summed in their order, so the number of models does not change a bit of the result. In Sync alone:
  /// elsewhere each thread steps by itself, see train().
  template <class Model, can_slice Batch>
  requires trainable<Model, Batch>
  double minimize(std::span<Model> models, Batch const& batch, std::size_t parts) {
    static_assert(StrategyChoice::apply == ApplyRule::gather,
                  "prdist: minimize() of several models is a step of Sync; with other strategies give train() threads, "
                  "or call minimize(model, batch, lane) in each");
    prepare(models.front());
    parts = std::clamp<std::size_t>(parts, 1, std::max<std::size_t>(1, batch.size()));
    while (lanes_.size() < parts) add_lane();
    if (!team_ || team_->size() != models.size()) team_ = std::make_unique<Team>(models.size());
    std::span<std::unique_ptr<LaneOf> const> const lanes(lanes_.data(), parts);
    SplitStep<DeviceChoice, Model, Batch> step(lanes, *team_, models, batch, [this](double loss) { check(0, loss); });
    strategy_.step(step);
    ++lane_of(0).steps;
    return step.loss;
  }

  /// How many threads will call minimize() with a lane of their own; those before are forgotten. Settled first.
  void use_threads(std::size_t threads) {
    threads_ = std::max<std::size_t>(1, threads);
    meeting_.reset();
  }

  /// Thread `lane` has no more batches: its pushes arrive, and nobody waits for it any longer.
  void leave(std::size_t lane) {
    if (!tables_) return;
    lane_of(lane).settle(0);
    if (meeting_) meeting_->leave(lane);
    // Also when no thread has ticked yet: the first tick counts all threads, and would wait for one that is through.
    if constexpr (ticks) client().leave_clock(number(lane), number(threads_));
  }

  /// Trains on every batch that `next` gives (std::optional<Batch>, nothing at the end). In Sync a batch is a step,
  /// cut into micro-batches for the threads; otherwise each thread takes batches of its own. `next` and
  /// `told(loss, examples)` are called by one thread at a time. Ends when there are no more batches; pushes may still
  /// be under way, see settle(). @throws what any thread threw first
  template <class Model, class Next, class Told>
  void train(Model const& model, Next&& next, Told&& told, TrainOptions const& options) {
    if constexpr (StrategyChoice::apply == ApplyRule::gather) {
      static_assert(can_slice<typename std::remove_cvref_t<decltype(next())>::value_type>,
                    "prdist: train() in Sync cuts batches: give the batch a slice(first, count)");
      std::vector<Model> models(std::max<std::size_t>(1, options.threads), model);
      while (auto batch = next()) {
        told(minimize(std::span<Model>(models), *batch, options.micro_batches), batch->size());
        if (options.pause_due && options.pause_due()) options.pause();
      }
    } else {
      train_apart(model, next, told, options);
    }
  }

  /// Predictions with the weights as they are on the servers now; changes nothing there.
  template <class Model, class Batch>
  requires trainable<Model, Batch>
  void predict(Model& model, Batch const& batch, std::span<float> out) {
    prepare(model);
    auto& lane = lane_of(0);
    lane.settle(0);
    lane.open(model, batch);
    lane.pull();
    model.predict(batch, lane.dense_view(), lane.row_views(), out);
  }

  /// Brings everything this worker still holds (queues, merged gradients, differences of its own copy) to the servers
  /// and waits until it is applied. Training goes on as before. No thread may be in a step.
  void settle() {
    for (auto& lane : lanes_) lane->settle(0);
    if (copy_) copy_->settle();
  }

  // Of a strategy whose workers train copies of their own: whether the optimizer knows something of its weights, and
  // how that goes into a checkpoint and back. After settle(), and after prepare(). @throws as GeoCopy
  [[nodiscard]] bool keeps_state() const {
    return row_floats(optimizers_.sparse, 1) > 1 || row_floats(optimizers_.dense, 1) > 1;
  }
  void save_copy(PartWriter& to) requires(StrategyChoice::apply == ApplyRule::add) {
    if (copy_) copy_->save(to);
  }
  void load_copy(PartReader const& from) requires(StrategyChoice::apply == ApplyRule::add) {
    if (copy_) copy_->load(from);
  }

  /// Where steps wait for those that are behind, the last one may have ended before: a checkpoint was wanted, for which
  /// this worker must not wait for others, but meet them. Makes up for it; false when one is wanted again.
  [[nodiscard]] bool keep_up() {
    return std::ranges::all_of(lanes_, [](auto const& lane) { return lane->keep_up(); });
  }

  /// This worker has no more batches: waits as settle() does, and lets the others' steps go on without it. Workers
  /// with uneven data call it before they meet at a barrier; stop_worker() includes it.
  void finish() {
    settle();
    client().retire();
  }

  /// The dense weights as they are on the servers now.
  [[nodiscard]] std::vector<float> dense_weights() {
    if (!tables_ || !tables_->dense) return {};
    std::vector<float> weights(tables_->dense->size);
    client().pull(*tables_->dense, weights).wait();
    return weights;
  }

  /// How stale this worker's pushes were, of the model's sparse table `input`.
  [[nodiscard]] std::shared_ptr<Histogram const> staleness(std::size_t input = 0) {
    if (!tables_ || input >= tables_->sparse.size()) return std::make_shared<Histogram>();
    return client().staleness(tables_->sparse[input].id);
  }

 private:
  using LaneOf = TrainerLane<DeviceChoice>;
  static constexpr bool local = StrategyChoice::apply == ApplyRule::add;
  static constexpr bool asks_ahead = requires { StrategyChoice::asks_ahead; };
  static constexpr bool ticks = requires { StrategyChoice::ticks; };

  /// A step of one thread on one batch.
  template <class Model, class Batch>
  struct StepOf final : Step {
    StepOf(DistributedOptimizer& self, std::size_t lane, Model& model, Batch const& batch, Batch const* following)
        : self_(self), number_(lane), lane_(self.lane_of(lane)), model_(model), batch_(batch), following_(following) {}
    void pull() override {
      if (lane_.has_ahead()) {
        if (lane_.is_ahead_for(model_, batch_)) return lane_.take_ahead();
        lane_.drop_ahead();
        throw Error(Errc::job_state,
                    "minimize() with another batch than its last call named as the following one: name the batch that "
                    "comes next, or none");
      }
      lane_.open(model_, batch_);
      if constexpr (local) {
        self_.copy_->read(lane_);
        lane_.unfold();
      } else {
        lane_.pull();
      }
    }
    void ask_ahead() override {
      if (following_ != nullptr) lane_.ask_ahead(model_, *following_);
    }
    void compute() override {
      loss = lane_.compute(model_, batch_, lane_.dense_view());
      self_.check(number_, loss);
    }
    void push(std::size_t merge) override { lane_.push(merge); }
    void settle(std::size_t most) override { lane_.settle(most); }
    void meet() override { self_.meet(number_); }
    void tick(std::uint64_t ahead) override { self_.tick(number_, ahead); }
    void learn() override { self_.copy_->learn(lane_); }
    void exchange(std::size_t interval) override { self_.copy_->step(interval); }
    double loss = 0;

   private:
    DistributedOptimizer& self_;
    std::size_t number_;
    LaneOf& lane_;
    Model& model_;
    Batch const& batch_;
    Batch const* following_;
  };

  [[nodiscard]] Client& client() {
    if (!client_) throw Error(Errc::job_state, "minimize() before init_worker(): call fleet.init_worker() first");
    return *client_;
  }

  static std::uint32_t number(std::size_t value) { return static_cast<std::uint32_t>(value); }

  /// Threads may come at once; the first declares the tables.
  void add_lane() {
    lanes_.push_back(std::make_unique<LaneOf>(client(), *tables_, MergeRules::of(optimizers_), *device_));
  }

  [[nodiscard]] LaneOf& lane_of(std::size_t lane) { return *lanes_.at(lane); }

  void check(std::size_t lane, double loss) {
    if (std::isfinite(loss)) return;
    auto const worker = client().options().trainer;
    check_loss(threads_ > 1 ? concat("worker ", worker, ", thread ", lane) : concat("worker ", worker),
               lane_of(lane).steps + 1, loss);
  }

  /// One push of the mean of all threads' gradients, applied before anybody goes on.
  void meet(std::size_t number) {
    meeting_->meet(number, [this](std::set<std::size_t> const& here) {
      std::vector<Flight<DeviceChoice>*> parts;
      for (auto const lane : here) parts.push_back(&lane_of(lane).gradients());
      auto& leading = lane_of(*here.begin());
      leading.push_merged(parts);
      leading.settle(0);
    });
  }

  void tick(std::size_t lane, std::uint64_t ahead) {
    // Threads that end without a step would be waited for: nobody tells the clock that they are through.
    if constexpr (!ticks) {
      throw Error(Errc::job_state, "strategy '", StrategyChoice::name,
                  "' calls tick() and does not say that it does: give it a `static constexpr bool ticks = true`");
    }
    auto const look = look_ ? [this, lane] { look_(lane); } : std::function<void()>();
    lane_of(lane).tick(number(lane), number(threads_), ahead, look);
  }

  /// Nobody waits any longer for a thread that has failed.
  void give_up(std::size_t lane) noexcept {
    lane_of(lane).drop_ahead();
    meeting_->leave(lane);
    try {
      if constexpr (ticks) client().leave_clock(number(lane), number(threads_));
    } catch (std::exception const& error) {
      log(Level::warning, error.what());  // why it failed is thrown by train()
    }
  }

  /// Each thread takes batches of its own.
  template <class Model, class Next, class Told>
  void train_apart(Model const& model, Next& next, Told& told, TrainOptions const& options) {
    use_threads(options.threads);
    prepare(model);
    if (!team_ || team_->size() != threads_) team_ = std::make_unique<Team>(threads_);
    Meeting pauses(client().runtime());
    for (std::size_t lane = 0; lane < threads_; ++lane) pauses.join(lane);
    BatchFeed feed(next, options);
    look_ = [&](std::size_t lane) {
      if (!feed.pause_due()) return;
      lane_of(lane).settle(0);
      meet_aside(*meeting_, pauses, lane, [&](auto const&) {
        if (copy_) copy_->settle();
        feed.pause();
      });
    };
    auto const wait = [&](std::size_t lane, Duration time) {
      meeting_->leave(lane);
      Gate never;
      (void)client().runtime().wait(never, client().runtime().now() + time);
      meeting_->join(lane);
    };
    team_->run([&](std::size_t lane) {
      auto own = model;
      std::exception_ptr failed;
      try {
        decltype(next()) batch;
        for (;;) {
          if (!batch) batch = feed.fetch([&] { look_(lane); }, [&](Duration time) { wait(lane, time); });
          if (!batch) break;
          // Several threads compute while others wait: asking ahead would only make each of them see older weights.
          auto following = asks_ahead && threads_ == 1 ? feed.take() : decltype(next()){};
          auto const loss = minimize(own, *batch, lane, following ? &*following : nullptr);
          feed.tell([&] { told(loss, batch->size()); });
          batch = std::move(following);
        }
        leave(lane);
      } catch (...) {
        // The others end their step and stop; nobody waits for this thread.
        failed = std::current_exception();
        feed.stop();
        give_up(lane);
      }
      pauses.leave(lane);
      if (failed) std::rethrow_exception(failed);
    });
    look_ = nullptr;
  }

  std::optional<Client>& client_;
  Optimizers optimizers_;
  StrategyChoice strategy_;
  std::optional<DeviceChoice> device_;  // of a worker; a server needs none and may have none
  std::uint64_t seed_;
  StalenessBound staleness_;
  std::size_t threads_ = 1;
  std::mutex prepare_mutex_;
  std::unique_ptr<ModelTables> tables_;
  std::unique_ptr<Meeting> meeting_;
  std::unique_ptr<GeoCopy> copy_;
  std::function<void(std::size_t)> look_;       ///< of train(): what a thread does between steps
  std::vector<std::unique_ptr<LaneOf>> lanes_;  // their handles wait for the network when this object ends early
  std::unique_ptr<Team> team_;
};

}  // namespace prdist
