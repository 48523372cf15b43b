// SPDX-License-Identifier: Apache-2.0
// What a fleet may be told beside its roles: how long it waits, how many threads serve and train, where randomness
// starts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include <prdist/core/memory_limit.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/fleet/roles.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// Threads that own shards in a server: a quarter of the machine's cores, 1 to 8. Workers and sockets need the others,
/// and every thread looks at every key of a request.
[[nodiscard]] inline unsigned default_server_threads() {
  return std::clamp(std::thread::hardware_concurrency() / 4, 1U, 8U);
}

/// What a server's tables may take when nobody says: four fifths of what the machine or the container has, shared with
/// the other servers on this host. Rather an error that says so than a process killed for memory.
[[nodiscard]] inline std::size_t default_server_memory(std::size_t servers_here) {
  auto const limit = memory_limit();
  return limit == 0 ? no_ceiling : limit / 5 * 4 / std::max<std::size_t>(servers_here, 1);
}

struct FleetOptions {
  Duration deadline = std::chrono::seconds(60);           ///< of every call to a server
  Duration wait_for_servers = std::chrono::seconds(120);  ///< of init_worker()
  Duration wait_for_workers = std::chrono::minutes(30);   ///< of run_server(), until all have come
  Duration wait_for_disk = std::chrono::minutes(10);      ///< of a checkpoint whose rows a server's disk has to take
  Duration lost_after = std::chrono::seconds(60);         ///< silence after which a worker is given up
  Duration elastic_timeout = std::chrono::seconds(120);   ///< of an elastic job with fewer workers than its least
  Duration retry_every = std::chrono::seconds(3);         ///< between two looks for a server
  unsigned server_threads = default_server_threads();
  std::size_t server_memory = 0;  ///< bytes that a server's tables may take, see Eviction; 0: default_server_memory()
  StalenessBound staleness{};     ///< beyond which servers drop or refuse a push
  std::uint64_t seed = 0;         ///< of first rows and first weights; the same in every worker
};

/// What DistributedOptimizer::train() may be told.
struct TrainOptions {
  std::size_t threads = 1;
  /// Sync: parts into which a batch is cut, whatever the number of threads that work on them. Their sum is taken in
  /// one order, so that the weights do not depend on the threads.
  std::size_t micro_batches = 4;
  /// Asked between steps, by one thread at a time; when true, every thread brings what it holds to the servers, and
  /// then one of them calls `pause` while the others wait.
  std::function<bool()> pause_due{};
  std::function<void()> pause{};
  /// Not in Sync. Asked when there was no batch, as `next` is: how long to wait before asking for one again; nothing
  /// at the end. Without it the first time is the end.
  std::function<std::optional<Duration>()> more{};
};

/// The defaults, overridden by FLAGS_rpc_deadline (milliseconds, as Paddle has it), PRDIST_WAIT_SERVERS,
/// PRDIST_WAIT_WORKERS, PRDIST_WAIT_DISK, PRDIST_LOST_AFTER, PRDIST_ELASTIC_TIMEOUT (seconds), PRDIST_SERVER_THREADS
/// and PRDIST_SERVER_MEMORY_MB.
/// @throws Error config.invalid
[[nodiscard]] inline FleetOptions options_from_env(Environment const& environment = process_environment) {
  FleetOptions options;
  detail::RoleReader const read(environment);
  constexpr std::uint32_t most = 1000000000;
  if (auto const value = read.optional_number("FLAGS_rpc_deadline", 1, most)) {
    options.deadline = std::chrono::milliseconds(*value);
  }
  if (auto const value = read.optional_number("PRDIST_WAIT_SERVERS", 0, most)) {
    options.wait_for_servers = std::chrono::seconds(*value);
  }
  if (auto const value = read.optional_number("PRDIST_WAIT_WORKERS", 1, most)) {
    options.wait_for_workers = std::chrono::seconds(*value);
  }
  if (auto const value = read.optional_number("PRDIST_WAIT_DISK", 1, most)) {
    options.wait_for_disk = std::chrono::seconds(*value);
  }
  if (auto const value = read.optional_number("PRDIST_LOST_AFTER", 1, most)) {
    options.lost_after = std::chrono::seconds(*value);
  }
  if (auto const value = read.optional_number("PRDIST_ELASTIC_TIMEOUT", 1, most)) {
    options.elastic_timeout = std::chrono::seconds(*value);
  }
  if (auto const value = read.optional_number("PRDIST_SERVER_THREADS", 1, 256)) options.server_threads = *value;
  if (auto const value = read.optional_number("PRDIST_SERVER_MEMORY_MB", 1, most)) {
    options.server_memory = std::size_t{*value} << 20;
    // Less is no room for any table; what those of a job need, they say when they are declared.
    if (auto const least = options.server_threads * Arena::huge_page; options.server_memory < least) {
      throw Error(Errc::config_invalid, "PRDIST_SERVER_MEMORY_MB='", *value, "': a server's tables take ",
                  Arena::huge_page >> 20, " MiB at least for each of its threads, of which there are ",
                  options.server_threads, ": give ", least >> 20, " or more, or fewer PRDIST_SERVER_THREADS");
    }
  }
  return options;
}

/// Threads of a worker as CPU_NUM gives them, which launchers set from `threads` of config.yaml; nothing when it is not
/// set. @throws Error config.invalid
[[nodiscard]] inline std::optional<std::size_t> threads_from_env(Environment const& environment = process_environment) {
  return detail::RoleReader(environment).optional_number("CPU_NUM", 1, 1024);
}

}  // namespace prdist
