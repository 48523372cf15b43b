// SPDX-License-Identifier: Apache-2.0
// What prrun and its agents on other hosts say to each other: a line of JSON each, over the standard streams of ssh.
//
//   agent     {"say":"hello","version":V}                       it runs
//   launcher  {"say":"job", ...}                                AgentJob
//   agent     {"say":"ready","address":A,"ports":[..],"gloo":P} its ports are bound
//   launcher  {"say":"plan","pod":N,"servers":[..],"trainers":[..],"gloo":E}
//   agent     {"say":"running","pids":[..]}, {"say":"line","text":T}, {"say":"progress","trainer":N,"line":L},
//             {"say":"ended", ...} for each member, {"say":"over","code":C,"cause":T,"leftovers_too_late":B} last, with
//             a cause when the agent was ended by others; {"say":"error","code":C,"text":T} instead
//   launcher  {"say":"stop"}, {"say":"kill"}; both say {"say":"alive"} every second
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/ssh/placement.hpp>

namespace prdist {

/// What an agent is to run. Its current folder is the workspace.
struct AgentJob {
  std::string job_id = "default";
  std::size_t node = 0;
  std::string host;                ///< as the hostfile has it: the address when the agent finds no better one
  std::string nics;                ///< the interface whose address is to be used; empty for the one ssh came to
  std::vector<JobMember> members;  ///< servers first
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=value, before those of the plan
  std::uint16_t port = 0;                ///< of the first server here; 0 takes free ones
  std::uint16_t width = 1;               ///< ports of a server
  bool hand_over_sockets = true;
  std::chrono::milliseconds grace{30'000};
  std::chrono::milliseconds patience{60'000};  ///< silence after which the launcher counts as gone
};

/// A line of the channel. @throws Error wire.message for what is no object with a text "say"
[[nodiscard]] inline boost::json::object parse_message(std::string_view line) {
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;  // logs and arguments are bytes
  boost::system::error_code error;
  auto value = boost::json::parse(line, error, {}, options);
  auto const* const object = error ? nullptr : value.if_object();
  if (object == nullptr || object->if_contains("say") == nullptr || !object->at("say").is_string()) {
    throw Error(Errc::wire_message, "ssh: '", line.substr(0, 200), "' is no message of an agent",
                ": are both sides the same version of prrun?");
  }
  return *object;
}

[[nodiscard]] inline std::string line_of(boost::json::object const& message) {
  return boost::json::serialize(message) + '\n';
}

namespace detail {

[[nodiscard]] inline Error bad_field(std::string_view name) {
  return {Errc::wire_message, "ssh: a message lacks a right '", name, "': are both sides the same version of prrun?"};
}

[[nodiscard]] inline boost::json::value const& field_of(boost::json::object const& message, std::string_view name) {
  auto const* const value = message.if_contains(name);
  if (value == nullptr) throw bad_field(name);
  return *value;
}

}  // namespace detail

/// A field of a message. @throws Error wire.message
[[nodiscard]] inline std::string text_field(boost::json::object const& message, std::string_view name) {
  auto const& value = detail::field_of(message, name);
  if (!value.is_string()) throw detail::bad_field(name);
  return std::string(value.get_string());
}
template <class Number>
[[nodiscard]] Number number_in_json(boost::json::value const& value, std::string_view name) {
  boost::system::error_code error;
  auto const number = value.to_number<Number>(error);
  if (error) throw detail::bad_field(name);
  return number;
}
template <class Number>
[[nodiscard]] Number number_field(boost::json::object const& message, std::string_view name) {
  return number_in_json<Number>(detail::field_of(message, name), name);
}
[[nodiscard]] inline bool flag_field(boost::json::object const& message, std::string_view name) {
  auto const& value = detail::field_of(message, name);
  if (!value.is_bool()) throw detail::bad_field(name);
  return value.get_bool();
}
[[nodiscard]] inline boost::json::array const& list_field(boost::json::object const& message, std::string_view name) {
  auto const& value = detail::field_of(message, name);
  if (!value.is_array()) throw detail::bad_field(name);
  return value.get_array();
}
[[nodiscard]] inline std::vector<std::string> texts_field(boost::json::object const& message, std::string_view name) {
  std::vector<std::string> texts;
  for (auto const& value : list_field(message, name)) {
    if (!value.is_string()) throw detail::bad_field(name);
    texts.emplace_back(value.get_string());
  }
  return texts;
}
template <class Number>
[[nodiscard]] std::vector<Number> numbers_field(boost::json::object const& message, std::string_view name) {
  std::vector<Number> numbers;
  for (auto const& value : list_field(message, name)) numbers.push_back(number_in_json<Number>(value, name));
  return numbers;
}

namespace detail {

template <class Values>
[[nodiscard]] boost::json::array array_of(Values const& values) {
  boost::json::array array;
  for (auto const& value : values) array.emplace_back(value);
  return array;
}

[[nodiscard]] inline std::vector<std::string> texts_of(std::vector<Endpoint> const& endpoints) {
  std::vector<std::string> texts;
  for (auto const& endpoint : endpoints) texts.push_back(to_string(endpoint));
  return texts;
}

[[nodiscard]] inline JobMember member_of(std::string_view text) {
  auto const blank = text.find(' ');
  JobMember member;
  bool const server = text.substr(0, blank) == name_of(JobRole::server);
  member.role = server ? JobRole::server : JobRole::trainer;
  bool const known = server || text.substr(0, blank) == name_of(JobRole::trainer);
  if (!known || blank == std::string_view::npos || !parse_number(text.substr(blank + 1), member.index)) {
    throw bad_field("member");
  }
  return member;
}

}  // namespace detail

[[nodiscard]] inline boost::json::object to_json(AgentJob const& job) {
  boost::json::array members;
  for (auto const& member : job.members) members.emplace_back(to_string(member));
  return {{"say", "job"},
          {"job_id", job.job_id},
          {"node", job.node},
          {"host", job.host},
          {"nics", job.nics},
          {"members", std::move(members)},
          {"program", job.program},
          {"arguments", detail::array_of(job.arguments)},
          {"environment", detail::array_of(job.environment)},
          {"port", job.port},
          {"width", job.width},
          {"hand_over_sockets", job.hand_over_sockets},
          {"grace", job.grace.count()},
          {"patience", job.patience.count()}};
}

/// @throws Error wire.message
[[nodiscard]] inline AgentJob agent_job_of(boost::json::object const& message) {
  AgentJob job;
  job.job_id = text_field(message, "job_id");
  job.node = number_field<std::size_t>(message, "node");
  job.host = text_field(message, "host");
  job.nics = text_field(message, "nics");
  for (auto const& text : texts_field(message, "members")) job.members.push_back(detail::member_of(text));
  if (job.members.empty()) throw detail::bad_field("members");
  job.program = text_field(message, "program");
  job.arguments = texts_field(message, "arguments");
  job.environment = texts_field(message, "environment");
  job.port = number_field<std::uint16_t>(message, "port");
  job.width = number_field<std::uint16_t>(message, "width");
  job.hand_over_sockets = flag_field(message, "hand_over_sockets");
  job.grace = std::chrono::milliseconds(number_field<std::int64_t>(message, "grace"));
  job.patience = std::chrono::milliseconds(number_field<std::int64_t>(message, "patience"));
  return job;
}

[[nodiscard]] inline boost::json::object to_json(NodeReady const& ready) {
  return {{"say", "ready"}, {"address", ready.address}, {"ports", detail::array_of(ready.ports)}, {"gloo", ready.gloo}};
}

/// @throws Error wire.message
[[nodiscard]] inline NodeReady node_ready_of(boost::json::object const& message) {
  return {text_field(message, "address"), numbers_field<std::uint16_t>(message, "ports"),
          number_field<std::uint16_t>(message, "gloo")};
}

/// The endpoints alone: where logs go and what runs there each node knows itself.
[[nodiscard]] inline boost::json::object plan_to_json(LaunchPlan const& plan) {
  return {{"say", "plan"},
          {"pod", plan.pod_name},
          {"servers", detail::array_of(detail::texts_of(plan.servers))},
          {"trainers", detail::array_of(detail::texts_of(plan.trainers))},
          {"gloo", to_string(plan.gloo)},
          {"with_gloo", plan.with_gloo}};
}

/// @throws Error wire.message, config.invalid
[[nodiscard]] inline LaunchPlan plan_of_message(boost::json::object const& message) {
  LaunchPlan plan;
  plan.pod_name = text_field(message, "pod");
  for (auto const& text : texts_field(message, "servers")) plan.servers.push_back(parse_endpoint(text).value());
  for (auto const& text : texts_field(message, "trainers")) plan.trainers.push_back(parse_endpoint(text).value());
  plan.gloo = parse_endpoint(text_field(message, "gloo")).value();
  plan.with_gloo = text_field(message, "with_gloo");
  return plan;
}

/// How a member ended. A process that survived SIGKILL has neither code nor signal, and ends nobody's wait.
[[nodiscard]] inline boost::json::object ended_to_json(MemberReport const& report) {
  auto const ending = report.ending.value_or(Ending{});
  return {{"say", "ended"},
          {"member", to_string(report.member)},
          {"gone", report.ending.has_value()},
          {"code", ending.code},
          {"signal", ending.signal},
          {"core", ending.core_dumped},
          {"memory", ending.out_of_memory},
          {"seconds", report.seconds},
          {"stopped", report.stopped},
          {"too_late", report.too_late}};
}

/// @throws Error wire.message
[[nodiscard]] inline MemberReport ended_of(boost::json::object const& message) {
  MemberReport report;
  report.member = detail::member_of(text_field(message, "member"));
  if (flag_field(message, "gone")) {
    report.ending = Ending{number_field<int>(message, "code"), number_field<int>(message, "signal"),
                           flag_field(message, "core"), flag_field(message, "memory")};
  }
  report.seconds = number_field<double>(message, "seconds");
  report.stopped = flag_field(message, "stopped");
  report.too_late = flag_field(message, "too_late");
  return report;
}

}  // namespace prdist
