// SPDX-License-Identifier: Apache-2.0
// The header of a frame, 88 bytes, little-endian, with its own checksum. docs/wire.md has the picture.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <prdist/core/error.hpp>
#include <prdist/core/escaped.hpp>
#include <prdist/core/types.hpp>
#include <prdist/wire/checksum.hpp>

namespace prdist {

static_assert(std::endian::native == std::endian::little,
              "prdist: the wire is little-endian and so must the machine be");

inline constexpr std::uint32_t wire_magic = 0x31445250;  // "PRD1"
inline constexpr std::uint16_t wire_version = 1;

enum class Kind : std::uint16_t {
  hello = 1,
  declare = 2,
  pull_rows = 3,
  push_rows = 4,
  pull_dense = 5,
  push_dense = 6,
  assign_dense = 7,
  meet = 8,
  leave = 9,
  ping = 10,
  retire = 11,
  clock = 12,
  pull_changed = 13,
  ask_cut = 16,
  met_for_cut = 17,
  cut = 18,
  keep_cut = 19,
  load = 20,
  work_state = 21,
  shrink = 22,
  next_file = 23,
  file_done = 24,
  file_state = 25,
  duty = 26,
  reply = 64,
  failure = 65,
};

/// Set in Header::flags of a push that closes the trainer's part of a gathered step; in an answer to next_file, when
/// there are no more; of a cut that no other builds on; of Kind::duty, in a report that it is done, and in an answer to
/// who has it.
inline constexpr std::uint32_t flag_last = 1;
/// Set in a clock of a thread that has no more batches; of Kind::duty, when somebody else may have it.
inline constexpr std::uint32_t flag_leave = 2;
/// Set in the answer to a clock, a meeting, next_file or a duty: not yet, ask again.
inline constexpr std::uint32_t flag_again = 4;
/// Set in the answer to pull_changed: what changed is no longer known.
inline constexpr std::uint32_t flag_forgotten = 8;

/// Of Kind::meet: only trainers that still have batches are waited for.
inline constexpr std::uint32_t flag_training = 16;

/// Of Kind::ask_cut, and of an answer that tells of a wanted checkpoint: training is to end with it. Of Kind::leave:
/// the trainer goes before the work is finished. Of Kind::ping: the trainer was asked to stop.
inline constexpr std::uint32_t flag_stop = 32;

/// Of an answer: the last checkpoint has been made, and those who trained have stopped.
inline constexpr std::uint32_t flag_stopped = 256;

/// Of Kind::push_rows: shows and clicks of each key, two floats, follow the gradients.
inline constexpr std::uint32_t flag_show_click = 128;

struct Header {
  std::uint32_t magic = wire_magic;
  std::uint16_t version = wire_version;
  Kind kind = Kind::ping;
  std::uint32_t flags = 0;
  std::uint32_t table = 0;
  std::uint64_t request = 0;        ///< chosen by the sender of a request, repeated in its reply
  std::uint32_t client = 0;         ///< who asks: stays the same when a trainer reconnects
  std::uint32_t table_version = 0;  ///< of the table in a pull's answer and in the push made from it; 0: not known
  std::uint32_t client_epoch = 0;   ///< counts the lives of that client
  std::uint32_t placement = 0;      ///< the epoch of the placement by which keys were sent here
  std::uint64_t sequence = 0;       ///< counts what one client sends; in an answer the step of a wanted checkpoint
  std::uint32_t remaining_ms = 0;   ///< how long the sender waits, 0: for ever; in an answer that checkpoint's number
  std::uint32_t weight = 0;         ///< examples behind a gradient
  std::uint64_t payload = 0;        ///< bytes that follow, without their checksums
  std::uint64_t count = 0;          ///< keys or ranges in the payload
  std::uint64_t offset = 0;         ///< the first range
  std::uint64_t checksum = 0;       ///< over all bytes before it
};

inline constexpr std::size_t header_bytes = 88;
static_assert(sizeof(Header) == header_bytes && std::is_trivially_copyable_v<Header>);

using HeaderBytes = std::array<std::byte, header_bytes>;

[[nodiscard]] inline HeaderBytes encode(Header header) noexcept {
  HeaderBytes bytes;
  std::memcpy(bytes.data(), &header, header_bytes);
  header.checksum = checksum(ConstBytes(bytes).first(header_bytes - sizeof header.checksum));
  std::memcpy(bytes.data(), &header, header_bytes);
  return bytes;
}

/// What can be wrong with a header on its own; `most` is the largest payload the receiver takes.
[[nodiscard]] inline Result<Header> decode(HeaderBytes const& bytes, std::uint64_t most) {
  Header header;
  std::memcpy(&header, bytes.data(), header_bytes);
  if (header.magic != wire_magic) {
    return Error(Errc::wire_not_prdist, "the peer sent '", escaped({reinterpret_cast<char const*>(bytes.data()), 16}),
                 "' where a frame begins: it does not speak this protocol (is the port right?)");
  }
  if (header.version != wire_version) {
    return Error(Errc::wire_version, "the peer speaks version ", header.version, " of the wire, this program version ",
                 wire_version, ": build both from one release");
  }
  if (header.checksum != checksum(ConstBytes(bytes).first(header_bytes - sizeof header.checksum))) {
    return Error(Errc::wire_checksum, "the header of a frame arrived damaged: the connection cannot be trusted");
  }
  if (header.payload > most) {
    return Error(Errc::wire_too_large, "a frame of ", header.payload, " bytes, the limit is ", most,
                 ": ask for fewer keys at a time or raise the limit on both sides");
  }
  return header;
}

}  // namespace prdist
