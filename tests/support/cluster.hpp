// A whole job as threads of one process: servers and workers over any transport. The first exception of a role is
// thrown again by the caller; nothing outlives spawn().
#pragma once

#include <prdist/fleet.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "any_transport.hpp"

namespace prdist::test {

inline FleetOptions quick_options() {
  FleetOptions options;
  options.deadline = std::chrono::seconds(20);
  options.wait_for_servers = std::chrono::seconds(20);
  options.retry_every = std::chrono::milliseconds(20);
  return options;
}

/// Runs `work(fleet)` in each worker, and servers beside them. Returns the servers' exit codes.
template <class... Policies, class Work>
std::vector<int> spawn(std::uint32_t servers, std::uint32_t workers, FleetOptions const& options,
                       typename Fleet<Policies...>::StrategyChoice const& strategy, Work const& work) {
  using Composition = Fleet<Policies...>;
  using Choice = typename Composition::TransportChoice;
  auto transport = make_transport<Choice>();

  // Servers listen one after another, so that everybody's list is complete before the first worker starts. The
  // endpoints are found by listening on port 0 and handing the listening socket over, as a launcher does.
  std::vector<Endpoint> endpoints;
  std::vector<int> descriptors;
  for (std::uint32_t i = 0; i < servers; ++i) {
    if constexpr (std::is_same_v<Choice, Memory>) {
      endpoints.push_back({"memory", static_cast<std::uint16_t>(i + 1)});
      descriptors.push_back(-1);
    } else {
      auto const [endpoint, descriptor] = listening_socket();
      endpoints.push_back(endpoint);
      descriptors.push_back(descriptor);
    }
  }

  std::mutex mutex;
  std::exception_ptr first;
  auto const guarded = [&](auto const& role) {
    try {
      role();
    } catch (...) {
      std::lock_guard const lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<int> codes(servers, -1);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < servers; ++i) {
    threads.emplace_back([&, i] {
      guarded([&] {
        Composition fleet{Roles{Role::server, i, endpoints, workers, descriptors[i]}, transport, options, strategy};
        fleet.init_server();
        codes[i] = fleet.run_server();
      });
    });
  }
  for (std::uint32_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      guarded([&] {
        Composition fleet{Roles{Role::worker, i, endpoints, workers}, transport, options, strategy};
        work(fleet);
      });
    });
  }
  for (auto& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  return codes;
}
template <class... Policies, class Work>
std::vector<int> spawn(std::uint32_t servers, std::uint32_t workers, FleetOptions const& options, Work const& work) {
  return spawn<Policies...>(servers, workers, options, {}, work);
}

}  // namespace prdist::test
