// Trainers and servers of a job on virtual time, one at a time, in an order that a test chooses: the code is the real
// one, only clock, waiting and network are the executor's. What can hang in a schedule hangs here at once, and says so.
#pragma once

#include <prdist/fleet.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace prdist::test {

class Executor final : public Runtime {
 public:
  Executor() = default;
  ~Executor() override { stop(); }

  /// A thread of the job. It runs only when run() lets it, until it waits or ends.
  void add(std::function<void()> work) {
    auto& fiber = *fibers_.emplace_back(std::make_unique<Fiber>());
    fiber.thread = std::thread([this, &fiber, work = std::move(work)] {
      fiber.go.acquire();
      running_ = &fiber;
      try {
        if (!stopping_) work();
      } catch (Stopped const&) {
      } catch (...) {
        if (!failed_) failed_ = std::current_exception();
      }
      fiber.ended = true;
      back_.release();
    });
  }

  /// Picks who goes on among those who can, by their numbers.
  using Choose = std::function<std::size_t(std::vector<std::size_t> const&)>;

  /// Messages are delivered when nobody can go on, or when `eager` says so; time passes only when nothing else can
  /// happen. Ends when every thread has; throws what one threw, or that all wait for ever.
  void run(
      Choose const& choose, std::function<bool()> const& eager = [] { return true; }) {
    for (;;) {
      if (failed_) {
        stop();
        std::rethrow_exception(std::exchange(failed_, nullptr));
      }
      std::vector<std::size_t> ready;
      bool all_ended = true;
      for (std::size_t i = 0; i < fibers_.size(); ++i) {
        all_ended = all_ended && fibers_[i]->ended;
        if (!fibers_[i]->ended && (fibers_[i]->gate == nullptr || fibers_[i]->gate->is_open())) ready.push_back(i);
      }
      if (all_ended) return;
      if ((ready.empty() || eager()) && hub->step()) continue;
      if (!ready.empty()) {
        resume(*fibers_[choose(ready)]);
        continue;
      }
      if (now_ > TimePoint{} + std::chrono::hours(2)) {
        stop();
        throw std::runtime_error("everybody waits for ever");
      }
      pass_time();
    }
  }

  TimePoint now() const override { return now_; }
  void after(Duration delay, std::function<void()> call) override { timers_.emplace(now_ + delay, std::move(call)); }
  bool wait(Gate& gate, TimePoint deadline) override {
    if (running_ == nullptr) return gate.is_open();
    auto& fiber = *running_;
    fiber.gate = &gate;
    bool late = false;
    auto const timer = std::make_shared<bool>(true);
    after(deadline - now_, [&late, &fiber, timer] {
      if (!*timer) return;
      late = true;
      fiber.gate = nullptr;
    });
    running_ = nullptr;
    back_.release();
    fiber.go.acquire();
    running_ = &fiber;
    fiber.gate = nullptr;
    *timer = false;
    if (stopping_) throw Stopped{};
    return !late;
  }

  std::shared_ptr<MemoryHub> hub = std::make_shared<MemoryHub>(MemoryHub::Stepped{});

 private:
  struct Stopped {};
  struct Fiber {
    std::thread thread;
    std::binary_semaphore go{0};
    Gate* gate = nullptr;
    bool ended = false;
  };

  void resume(Fiber& fiber) {
    fiber.go.release();
    back_.acquire();
    running_ = nullptr;
  }

  void pass_time() {
    if (timers_.empty()) throw std::runtime_error("nothing can happen any more");
    auto const first = timers_.begin();
    now_ = std::max(now_, first->first);
    auto const call = std::move(first->second);
    timers_.erase(first);
    call();
  }

  /// Ends the threads wherever they wait.
  void stop() {
    stopping_ = true;
    for (auto& fiber : fibers_) {
      while (!fiber->ended) resume(*fiber);
      if (fiber->thread.joinable()) fiber->thread.join();
    }
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::binary_semaphore back_{0};
  Fiber* running_ = nullptr;
  std::exception_ptr failed_;
  bool stopping_ = false;
  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> timers_;
};

/// Servers and clients of one job on an executor.
class SimulatedJob {
 public:
  /// With `elastic`, `trainers` are those of the beginning.
  SimulatedJob(std::uint32_t server_count, std::uint32_t trainers, std::optional<Elastic> elastic = std::nullopt)
      : clients(elastic ? elastic->max : trainers), trainers_(trainers), elastic_(elastic) {
    set_log([](Level, std::string_view) {});  // hundreds of jobs would say the same
    Memory memory(executor.hub);
    for (std::uint32_t i = 0; i < server_count; ++i) {
      ServerOptions options;
      options.index = i;
      options.servers = server_count;
      options.trainers = trainers;
      options.elastic = elastic;
      options.threads = 0;
      servers.push_back(std::make_shared<Server>(executor, options));
      servers.back()->start();
      endpoints_.push_back({"s", static_cast<std::uint16_t>(i + 1)});
      listeners_.push_back(memory
                               .listen({.endpoint = endpoints_.back(), .pages = {}},
                                       [server = servers.back()](auto const& it) { return server->accept(it); })
                               .value());
    }
  }

  ~SimulatedJob() { set_log(detail::log_to_stderr); }

  /// Call it in a thread of the executor.
  Client& connect(std::uint32_t trainer) {
    ClientOptions options;
    options.servers = endpoints_;
    options.trainer = trainer;
    options.trainers = trainers_;
    options.elastic = elastic_;
    auto& client = clients[trainer];
    client.emplace(
        executor,
        [memory = Memory(executor.hub)](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                        Duration timeout) mutable {
          return memory.connect(endpoint, std::move(sink), timeout);
        },
        std::move(options));
    client->connect();
    return *client;
  }

  Executor executor;
  std::vector<std::shared_ptr<Server>> servers;
  std::vector<std::optional<Client>> clients;

 private:
  std::uint32_t trainers_;
  std::optional<Elastic> elastic_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace prdist::test
