// SPDX-License-Identifier: Apache-2.0
// Which CUDA cards the processes of a collective job get. People name cards by their absolute numbers; a program counts
// those that CUDA_VISIBLE_DEVICES leaves it, so numbers are translated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/listed.hpp>

namespace prdist {

/// The cards this process may use, by absolute number or UUID: CUDA_VISIBLE_DEVICES, or else every card that has a
/// device file in `devices`. CUDA itself stops at the first entry it does not know, -1 for instance.
[[nodiscard]] inline std::vector<std::string> visible_cards(Environment const& environment,
                                                            std::filesystem::path const& devices = "/dev") {
  if (auto const visible = environment("CUDA_VISIBLE_DEVICES")) {
    auto cards = split_list(*visible);
    cards.erase(std::ranges::find_if(cards, [](auto const& card) { return card.empty() || card.starts_with('-'); }),
                cards.end());
    return cards;
  }
  std::vector<std::string> cards;
  std::error_code ignored;
  while (std::filesystem::exists(devices / concat("nvidia", cards.size()), ignored))
    cards.push_back(concat(cards.size()));
  return cards;
}

/// The value of FLAGS_selected_gpus for each of `processes`: places among the visible cards. One process gets all the
/// cards, several get one each; without cards all are empty, which means the CPU. `wanted` is the list of --devices,
/// and `processes` 0 stands for one per card.
[[nodiscard]] inline Result<std::vector<std::string>> cards_of(std::string_view wanted, std::size_t processes,
                                                               std::vector<std::string> const& visible) {
  std::string listed;
  for (auto const& card : visible) listed += concat(listed.empty() ? "" : ",", card);
  std::vector<std::string> places;
  for (auto const& card : wanted.empty() ? visible : split_list(wanted)) {
    auto const found = std::ranges::find(visible, card);
    auto const place = concat(found - visible.begin());
    if (found == visible.end()) {
      return Error(Errc::config_invalid, "launcher: --devices ", wanted, ": there is no card '", card, "' among ",
                   visible.empty() ? "none" : listed, " (absolute numbers; CUDA_VISIBLE_DEVICES hides the others)",
                   visible.empty() ? ": leave --devices away and give --nproc_per_node for processes on the CPU"
                                   : ": choose among them, or change CUDA_VISIBLE_DEVICES");
    }
    if (std::ranges::find(places, place) != places.end()) {
      return Error(Errc::config_invalid, "launcher: --devices ", wanted, ": card '", card, "' stands there twice");
    }
    places.push_back(place);
  }
  if (processes == 0) processes = std::max<std::size_t>(1, places.size());
  // Cards that nobody asked for by number may be left over; a process without one would fail later and less clearly.
  if (wanted.empty() && processes > places.size()) return std::vector<std::string>(processes);
  if (processes == 1) {
    std::string all;
    for (auto const& place : places) all += concat(all.empty() ? "" : ",", place);
    return std::vector<std::string>{all};
  }
  if (places.size() < processes || (!wanted.empty() && places.size() != processes)) {
    return Error(Errc::config_contradiction, "launcher: --nproc_per_node ", processes, " for ", places.size(),
                 " cards of --devices ", wanted, ": give as many cards as processes, or only one of the two flags");
  }
  places.resize(processes);
  return places;
}

}  // namespace prdist
