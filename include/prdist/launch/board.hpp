// SPDX-License-Identifier: Apache-2.0
// A running job as lines, one per member: its state, step, loss and speed. More members than lines become a line per
// role.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/progress.hpp>
#include <prdist/launch/summary.hpp>

namespace prdist {

struct MemberState {
  JobMember member;
  std::string state;             ///< "running", "stopping", "exit 0", "SIGKILL"
  std::optional<Progress> last;  ///< a trainer's last word
};

namespace detail {

[[nodiscard]] inline std::string number_text(char const* form, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), form, number);
  return text.data();
}

[[nodiscard]] inline std::string rate_text(double rate) {
  if (!std::isfinite(rate) || rate < 0 || rate >= 1e18) return {};
  return grouped(static_cast<std::uint64_t>(rate)) + " examples/s";
}

/// Name, state, step, loss, rate, part of the data; empty where nothing is known.
[[nodiscard]] inline std::array<std::string, 6> board_cells(MemberState const& each) {
  std::array<std::string, 6> cells{to_string(each.member), each.state, "", "", "", ""};
  if (!each.last) return cells;
  auto const& last = *each.last;
  // A program's own word for what it does says more than "running". It goes to a terminal, so it is only letters there.
  if (each.state == "running" && !last.phase.empty()) {
    cells[1] = last.phase.substr(0, 16);
    for (auto& c : cells[1]) c = c > ' ' && c < 0x7f ? c : '?';
  }
  if (last.step) cells[2] = concat("step ", grouped(*last.step));
  if (last.loss) cells[3] = number_text("loss %.4f", *last.loss);
  if (last.rate) cells[4] = rate_text(*last.rate);
  if (last.total && *last.total > 0 && last.examples) {
    auto const part = static_cast<double>(std::min(*last.examples, *last.total)) / static_cast<double>(*last.total);
    cells[5] = concat(static_cast<unsigned>(100 * part), '%');
  }
  return cells;
}

/// "trainers   3 running, 1 exit 0, step 1,180 to 1,240, loss 0.4100 to 0.5200, 20,034 to 21,000 examples/s": what
/// differs among them shows who lags.
[[nodiscard]] inline std::string role_line(JobRole role, std::span<MemberState const> members) {
  struct Range {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    void take(std::optional<double> value) {
      if (!value || !std::isfinite(*value)) return;
      least = std::min(least, *value);
      most = std::max(most, *value);
    }
    [[nodiscard]] bool known() const { return least <= most; }
  };
  std::map<std::string, std::size_t> states;
  Range step;
  Range loss;
  Range rate;
  for (auto const& each : members) {
    if (each.member.role != role) continue;
    ++states[each.state];
    if (!each.last) continue;
    if (each.last->step) step.take(static_cast<double>(*each.last->step));
    loss.take(each.last->loss);
    rate.take(each.last->rate);
  }
  if (states.empty()) return {};
  auto text = concat(name_of(role), 's', role == JobRole::server ? "    " : "   ");
  bool first = true;
  auto const put = [&](std::string_view part) { text += concat(std::exchange(first, false) ? "" : ", ", part); };
  for (auto const& [state, count] : states) put(concat(grouped(count), ' ', state));
  auto const steps = [](double number) { return grouped(static_cast<std::uint64_t>(number)); };
  if (step.known()) put(concat("step ", steps(step.least), " to ", steps(step.most)));
  if (loss.known()) put(number_text("loss %.4f", loss.least) + number_text(" to %.4f", loss.most));
  if (rate.known() && rate.least >= 0 && rate.most < 1e18) {
    put(concat(steps(rate.least), " to ", steps(rate.most), " examples/s"));
  }
  return text;
}

}  // namespace detail

/// A line per member with its columns in line, or a line per role when there are more members than `rows`.
[[nodiscard]] inline std::vector<std::string> board_of(std::span<MemberState const> members, std::size_t rows) {
  std::vector<std::string> lines;
  if (members.size() > rows) {
    for (auto const role : {JobRole::server, JobRole::trainer}) {
      if (auto line = detail::role_line(role, members); !line.empty()) lines.push_back(std::move(line));
    }
    return lines;
  }
  std::vector<std::array<std::string, 6>> table;
  std::array<std::size_t, 6> widths{};
  for (auto const& each : members) {
    table.push_back(detail::board_cells(each));
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], table.back()[i].size());
  }
  for (auto const& row : table) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] != 0) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace prdist
