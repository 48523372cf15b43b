// SPDX-License-Identifier: Apache-2.0
// Strategies by name, as a configuration file or a command line gives them. A program that is told at run time
// instantiates each once, here, and goes on with a type.
//
//   with_strategy("geo", {.push_interval = 100}, [&](auto strategy) { train<decltype(strategy)>(strategy); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/text.hpp>
#include <prdist/strategy/async.hpp>
#include <prdist/strategy/geo.hpp>
#include <prdist/strategy/half_async.hpp>
#include <prdist/strategy/ssp.hpp>
#include <prdist/strategy/sync.hpp>

namespace prdist {

/// The numbers of all strategies; each takes its own.
struct StrategyNumbers {
  std::size_t send_queue_size = Async{}.send_queue_size;
  std::size_t max_merge_var_num = Async{}.max_merge_var_num;
  std::uint64_t staleness = Ssp{}.staleness;
  std::size_t push_interval = Geo{}.push_interval;
};

inline constexpr std::string_view strategy_names[]{Sync::name, HalfAsync::name, Async::name, Geo::name, Ssp::name};

/// Calls `visit` with the strategy of this name and returns what it returns. Numbers that cannot all have their effect
/// are told in a line of the log. @throws Error config.invalid when there is none, or when a number of it is out of
/// range
template <class Visit>
decltype(auto) with_strategy(std::string_view name, StrategyNumbers const& numbers, Visit&& visit) {
  auto const at_least_one = [&](std::string_view field, std::size_t value) {
    if (value == 0) throw Error(Errc::config_invalid, "strategy '", name, "': ", field, " is 0: give at least 1");
  };
  if (name == Sync::name) return visit(Sync{});
  if (name == HalfAsync::name) return visit(HalfAsync{});
  if (name == Async::name) {
    at_least_one("max_merge_var_num", numbers.max_merge_var_num);
    if (numbers.max_merge_var_num > numbers.send_queue_size + 1) {
      log(Level::warning, "strategy 'async': max_merge_var_num is ", numbers.max_merge_var_num,
          ", and with a send_queue_size of ", numbers.send_queue_size, " at most ", numbers.send_queue_size + 1,
          " gradients leave as one: give a larger queue");
    }
    return visit(Async{numbers.send_queue_size, numbers.max_merge_var_num});
  }
  if (name == Geo::name) {
    at_least_one("push_interval", numbers.push_interval);
    return visit(Geo{numbers.push_interval});
  }
  if (name == Ssp::name) return visit(Ssp{numbers.staleness});
  std::string known;
  for (auto const each : strategy_names) known += concat(known.empty() ? "" : ", ", each);
  throw Error(Errc::config_invalid, "'", name, "' is no strategy: choose one of ", known);
}

/// What Paddle's DistributedStrategy means by (a_sync, a_sync_configs.k_steps): (false, 0) is sync, (true, 0) async,
/// (true, k) geo, whose interval is put into `numbers`. Its default k_steps of -1 counts as 0 here.
[[nodiscard]] inline Result<std::string_view> strategy_of_paddle(bool a_sync, std::int64_t k_steps,
                                                                 StrategyNumbers& numbers) {
  if (k_steps < -1 || (!a_sync && k_steps > 0)) {
    return Error(Errc::config_contradiction, "a_sync ", a_sync, " with k_steps ", k_steps,
                 " names no strategy: (false, 0) is sync, (true, 0) async, (true, k) geo");
  }
  if (k_steps <= 0) return a_sync ? Async::name : Sync::name;
  numbers.push_interval = static_cast<std::size_t>(k_steps);
  return Geo::name;
}

}  // namespace prdist
