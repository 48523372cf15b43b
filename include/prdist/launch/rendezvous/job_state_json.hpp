// SPDX-License-Identifier: Apache-2.0
// The state of a job as it stands in the store.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>

namespace prdist {

namespace detail {

/// What the next version of prrun would have to read.
inline constexpr int job_state_format = 2;

[[nodiscard]] inline boost::json::array to_json(std::vector<Endpoint> const& endpoints) {
  boost::json::array list;
  for (auto const& endpoint : endpoints) list.emplace_back(to_string(endpoint));
  return list;
}

/// @throws Error and what Boost.JSON throws
[[nodiscard]] inline std::vector<Endpoint> endpoints_in(boost::json::value const& list) {
  std::vector<Endpoint> endpoints;
  for (auto const& each : list.as_array()) endpoints.push_back(parse_endpoint(each.as_string()).value());
  return endpoints;
}

[[nodiscard]] inline NodeInfo node_in(boost::json::value const& value) {
  NodeInfo node;
  node.name = value.at("name").as_string();
  node.host = value.at("host").as_string();
  node.servers = endpoints_in(value.at("servers"));
  node.trainers = endpoints_in(value.at("trainers"));
  node.gloo = parse_endpoint(value.at("gloo").as_string()).value();
  if (auto const& rank = value.at("wanted_rank"); !rank.is_null()) node.wanted_rank = rank.to_number<std::size_t>();
  node.first = value.at("first").as_bool();
  node.serves = value.at("serves").as_bool();
  node.offered = value.at("offered").to_number<std::uint64_t>();
  node.rank = value.at("rank").to_number<std::size_t>();
  node.first_trainer = value.at("first_trainer").to_number<std::size_t>();
  node.count.falls = value.at("falls").to_number<std::size_t>();
  node.count.quit = value.at("quit").to_number<std::size_t>();
  node.count.finished = value.at("finished").to_number<std::size_t>();
  node.granted = value.at("granted").to_number<std::size_t>();
  auto const phase = value.at("phase").to_number<std::uint8_t>();
  if (phase > static_cast<std::uint8_t>(NodePhase::lost)) throw Error(Errc::wire_message, "no such phase");
  node.phase = static_cast<NodePhase>(phase);
  return node;
}

}  // namespace detail

[[nodiscard]] inline std::string to_text(JobState const& state) {
  namespace json = boost::json;
  json::array nodes;
  for (auto const& node : state.nodes) {
    json::value rank = nullptr;
    if (node.wanted_rank) rank = *node.wanted_rank;
    nodes.push_back(json::object{{"name", node.name},
                                 {"host", node.host},
                                 {"servers", detail::to_json(node.servers)},
                                 {"trainers", detail::to_json(node.trainers)},
                                 {"gloo", to_string(node.gloo)},
                                 {"wanted_rank", rank},
                                 {"first", node.first},
                                 {"serves", node.serves},
                                 {"offered", node.offered},
                                 {"rank", node.rank},
                                 {"first_trainer", node.first_trainer},
                                 {"falls", node.count.falls},
                                 {"quit", node.count.quit},
                                 {"finished", node.count.finished},
                                 {"granted", node.granted},
                                 {"phase", static_cast<int>(node.phase)}});
  }
  json::value failure = nullptr;
  if (state.failure) {
    auto const& [node, code, what, victim, stopped] = *state.failure;
    failure = json::object{{"node", node}, {"code", code}, {"what", what}, {"victim", victim}, {"stopped", stopped}};
  }
  return json::serialize(json::object{{"format", detail::job_state_format},
                                      {"run", state.run},
                                      {"epoch", state.epoch},
                                      {"phase", static_cast<int>(state.phase)},
                                      {"least", state.terms.least},
                                      {"most", state.terms.most},
                                      {"reforms", state.terms.reforms},
                                      {"max_restart", state.terms.restarts},
                                      {"collective", state.terms.collective},
                                      {"restarts", state.restarts},
                                      {"first_trainers", state.first_trainers},
                                      {"reason", state.reason},
                                      {"nodes", std::move(nodes)},
                                      {"failure", std::move(failure)}});
}

/// Reads what to_text() wrote; wire.message for anything else, wire.version for another version's.
[[nodiscard]] inline Result<JobState> parse_job_state(std::string_view text) {
  try {
    auto const value = boost::json::parse(text);
    if (auto const format = value.at("format").to_number<int>(); format != detail::job_state_format) {
      return Error(Errc::wire_version, "launcher: the job's state in the store has format ", format, ", not ",
                   detail::job_state_format, ": start all nodes with the same prrun, or take another --job_id");
    }
    JobState state;
    state.run = value.at("run").to_number<std::uint64_t>();
    auto const phase = value.at("phase").to_number<std::uint8_t>();
    if (phase > static_cast<std::uint8_t>(JobPhase::ended)) throw Error(Errc::wire_message, "no such phase");
    state.phase = static_cast<JobPhase>(phase);
    state.epoch = value.at("epoch").to_number<std::uint64_t>();
    state.terms.least = value.at("least").to_number<std::size_t>();
    state.terms.most = value.at("most").to_number<std::size_t>();
    state.terms.reforms = value.at("reforms").as_bool();
    state.terms.restarts = value.at("max_restart").to_number<std::size_t>();
    state.terms.collective = value.at("collective").as_bool();
    state.restarts = value.at("restarts").to_number<std::size_t>();
    state.first_trainers = value.at("first_trainers").to_number<std::size_t>();
    state.reason = value.at("reason").as_string();
    for (auto const& node : value.at("nodes").as_array()) state.nodes.push_back(detail::node_in(node));
    if (auto const& failure = value.at("failure"); !failure.is_null()) {
      state.failure = {std::string(failure.at("node").as_string()), failure.at("code").to_number<int>(),
                       std::string(failure.at("what").as_string()), failure.at("victim").as_bool(),
                       failure.as_object().contains("stopped") && failure.at("stopped").as_bool()};
    }
    return state;
  } catch (std::exception const& error) {
    return Error(Errc::wire_message, "launcher: what stands in the store is not the state of a job, ", error.what(),
                 ": take another --job_id");
  }
}

}  // namespace prdist
