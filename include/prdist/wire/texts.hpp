// SPDX-License-Identifier: Apache-2.0
// The texts that trainers exchange at a meeting, as one payload: for each its number and its length, four bytes
// little-endian, then the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

/// What each trainer brought to a meeting.
using Texts = std::map<std::uint32_t, std::string>;

[[nodiscard]] inline std::vector<std::byte> encode_texts(Texts const& texts) {
  std::vector<std::byte> payload;
  for (auto const& [trainer, text] : texts) {
    std::uint32_t const head[] = {trainer, static_cast<std::uint32_t>(text.size())};
    auto const head_bytes = std::as_bytes(std::span(head));
    auto const text_bytes = std::as_bytes(std::span(text));
    payload.insert(payload.end(), head_bytes.begin(), head_bytes.end());
    payload.insert(payload.end(), text_bytes.begin(), text_bytes.end());
  }
  return payload;
}

[[nodiscard]] inline Result<Texts> decode_texts(ConstBytes payload) {
  Texts texts;
  while (!payload.empty()) {
    std::uint32_t head[2];
    if (payload.size() < sizeof head) return Error(Errc::wire_message, "the texts of a meeting end within a number");
    std::memcpy(head, payload.data(), sizeof head);
    payload = payload.subspan(sizeof head);
    if (head[1] > payload.size()) {
      return Error(Errc::wire_message, "the text of trainer ", head[0], " should have ", head[1], " bytes, ",
                   payload.size(), " are left");
    }
    if (!texts.emplace(head[0], as_text(payload.first(head[1]))).second) {
      return Error(Errc::wire_message, "trainer ", head[0], " has two texts in one meeting");
    }
    payload = payload.subspan(head[1]);
  }
  return texts;
}

}  // namespace prdist
