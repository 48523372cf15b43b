// SPDX-License-Identifier: Apache-2.0
// The report for programs.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include <prdist/launch/report.hpp>

namespace prdist {

/// Numbers are JSON numbers; what does not apply is null: a signal's name for one that exited, a code for one that
/// was killed, the first failure of a job that had none. One that was asked to stop at a member, and did so in
/// order, is interrupted as one that was at its launcher. A member on another machine has its "host"; one that the
/// system killed because memory ran out, "out_of_memory". "fallen" has those of an elastic job that fell while it went
/// on.
[[nodiscard]] inline boost::json::object to_json(JobReport const& report) {
  namespace json = boost::json;
  auto const object_of = [](MemberReport const& each) {
    json::value code = nullptr;
    json::value signal = nullptr;
    if (each.ending && each.ending->signal == 0) code = each.ending->code;
    if (each.ending && each.ending->signal != 0) signal = signal_name(each.ending->signal);
    json::object member{{"role", name_of(each.member.role)},
                        {"index", each.member.index},
                        {"pid", each.pid},
                        {"exit_code", code},
                        {"signal", signal},
                        {"stopped", each.stopped},
                        {"seconds", each.seconds},
                        {"log", each.log.string()}};
    if (each.ending && each.ending->out_of_memory) member["out_of_memory"] = true;
    if (!each.host.empty()) member["host"] = each.host;
    return member;
  };
  json::array members;
  for (std::size_t rank = 0; rank < report.members.size(); ++rank) {
    json::object member{{"rank", rank}};
    for (auto const& [name, value] : object_of(report.members[rank])) member[name] = value;
    members.push_back(std::move(member));
  }
  json::array fallen;
  for (auto const& each : report.fallen) fallen.push_back(object_of(each));
  json::value first = nullptr;
  json::value cause = nullptr;
  if (report.first_failure && !report.stopped_in_order) first = *report.first_failure;
  if (report.outcome != Outcome::succeeded) cause = cause_of(report);
  json::object object{{"job_id", report.job_id},
                      {"pod", report.pod_name},
                      {"outcome", name_of(report.stopped_in_order ? Outcome::interrupted : report.outcome)},
                      {"exit_code", report.exit_code},
                      {"seconds", report.seconds},
                      {"restarts", report.restarts},
                      {"first_failure", first},
                      {"cause", cause},
                      {"members", members}};
  json::array nodes;
  for (auto const& each : report.nodes) {
    json::object node{{"rank", each.rank}, {"name", each.name}, {"host", each.host}, {"state", each.state}};
    if (each.code != 0) node["exit_code"] = each.code;
    nodes.push_back(std::move(node));
  }
  if (!nodes.empty()) object["nodes"] = std::move(nodes);
  if (!fallen.empty()) object["fallen"] = std::move(fallen);
  return object;
}

}  // namespace prdist
