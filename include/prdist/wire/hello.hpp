// SPDX-License-Identifier: Apache-2.0
// The two control messages that are not tables: who a trainer is, and why a request failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/port_layout.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

/// The first message on every connection. Both sides compare it with what they were told, so that two jobs, two
/// releases or two orders of the server list never mix.
struct Hello {
  std::uint32_t trainer = 0;
  std::uint32_t trainers = 0;
  std::uint32_t server = 0;  ///< which one the trainer believes it talks to
  std::uint32_t servers = 0;
  std::string release{};
  PortLayout ports{};      ///< of each server, as the trainer believes
  std::uint32_t link = 0;  ///< which of them this connection is for; the one for 0 comes first
  std::string elastic{};   ///< `min:max` of an elastic job, else empty

  friend bool operator==(Hello const&, Hello const&) = default;
};

[[nodiscard]] std::string to_json(Hello const& hello);
[[nodiscard]] Result<Hello> hello_from_json(std::string_view text);

/// The payload of Kind::failure: two bytes of Errc, then the message.
[[nodiscard]] inline std::vector<std::byte> encode_failure(Error const& error) {
  auto const code = static_cast<std::uint16_t>(error.code());
  auto const text = std::as_bytes(std::span(error.message()));
  std::vector<std::byte> payload(sizeof code);
  std::memcpy(payload.data(), &code, sizeof code);
  payload.insert(payload.end(), text.begin(), text.end());
  return payload;
}

[[nodiscard]] inline Error decode_failure(ConstBytes payload) {
  std::uint16_t code = 0;
  if (payload.size() < sizeof code) return {Errc::wire_message, "a failure without its code"};
  std::memcpy(&code, payload.data(), sizeof code);
  return {errc_of(code), as_text(payload.subspan(sizeof code))};
}

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/wire/hello.ipp>
#endif
