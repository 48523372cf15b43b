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
/// was killed, the first failure of a job that had none. A member on another machine has its "host".
[[nodiscard]] inline boost::json::object to_json(JobReport const& report) {
  namespace json = boost::json;
  json::array members;
  for (std::size_t rank = 0; rank < report.members.size(); ++rank) {
    auto const& each = report.members[rank];
    json::value code = nullptr;
    json::value signal = nullptr;
    if (each.ending && each.ending->signal == 0) code = each.ending->code;
    if (each.ending && each.ending->signal != 0) signal = signal_name(each.ending->signal);
    members.push_back({{"rank", rank},
                       {"role", name_of(each.member.role)},
                       {"index", each.member.index},
                       {"pid", each.pid},
                       {"exit_code", code},
                       {"signal", signal},
                       {"stopped", each.stopped},
                       {"seconds", each.seconds},
                       {"log", each.log.string()}});
    if (!each.host.empty()) members.back().as_object()["host"] = each.host;
  }
  json::value first = nullptr;
  json::value cause = nullptr;
  if (report.first_failure) first = *report.first_failure;
  if (report.outcome != Outcome::succeeded) cause = cause_of(report);
  return {{"job_id", report.job_id},
          {"pod", report.pod_name},
          {"outcome", name_of(report.outcome)},
          {"exit_code", report.exit_code},
          {"seconds", report.seconds},
          {"restarts", report.restarts},
          {"first_failure", first},
          {"cause", cause},
          {"members", members}};
}

}  // namespace prdist
