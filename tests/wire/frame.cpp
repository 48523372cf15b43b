#include <prdist/wire/frame.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "../support/random.hpp"
#include "../support/thrown.hpp"

using namespace prdist;
using test::holds;

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

Header some_header() {
  return {.kind = Kind::push_rows,
          .flags = flag_last,
          .table = 0xaabbccdd,
          .request = 0x0102030405060708,
          .client = 77,
          .client_epoch = 3,
          .placement = 4,
          .sequence = 5,
          .remaining_ms = 6,
          .weight = 7,
          .payload = 4096,
          .count = 9,
          .offset = 10};
}

/// The bytes of a header whose checksum is right although `change` made it wrong.
template <class Change>
HeaderBytes forged(Change&& change) {
  auto header = some_header();
  change(header);
  return encode(header);
}

}  // namespace

TEST(Frame, ReadsBackWhatWasWritten) {
  auto const header = some_header();
  auto const back = decode(encode(header), no_limit);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, Kind::push_rows);
  EXPECT_EQ(back->flags, flag_last);
  EXPECT_EQ(back->table, 0xaabbccddU);
  EXPECT_EQ(back->request, 0x0102030405060708U);
  EXPECT_EQ(back->client, 77U);
  EXPECT_EQ(back->client_epoch, 3U);
  EXPECT_EQ(back->placement, 4U);
  EXPECT_EQ(back->sequence, 5U);
  EXPECT_EQ(back->remaining_ms, 6U);
  EXPECT_EQ(back->weight, 7U);
  EXPECT_EQ(back->payload, 4096U);
  EXPECT_EQ(back->count, 9U);
  EXPECT_EQ(back->offset, 10U);
}

// What docs/wire.md draws, and what a program in another language relies on.
TEST(Frame, BytesStandWhereTheProtocolSays) {
  auto const bytes = encode(some_header());
  EXPECT_EQ(std::memcmp(bytes.data(), "PRD1", 4), 0);
  auto const at = [&](std::size_t offset, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i > 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i - 1]);
    return value;
  };
  EXPECT_EQ(at(4, 2), 1U);
  EXPECT_EQ(at(6, 2), 4U);
  EXPECT_EQ(at(8, 4), 1U);
  EXPECT_EQ(at(12, 4), 0xaabbccddU);
  EXPECT_EQ(at(16, 8), 0x0102030405060708U);
  EXPECT_EQ(at(24, 8), 77U);
  EXPECT_EQ(at(32, 4), 3U);
  EXPECT_EQ(at(36, 4), 4U);
  EXPECT_EQ(at(40, 8), 5U);
  EXPECT_EQ(at(48, 4), 6U);
  EXPECT_EQ(at(52, 4), 7U);
  EXPECT_EQ(at(56, 8), 4096U);
  EXPECT_EQ(at(64, 8), 9U);
  EXPECT_EQ(at(72, 8), 10U);
  EXPECT_EQ(at(80, 8), checksum(ConstBytes(bytes).first(80)));
}

TEST(Frame, EveryFlippedBitIsRefused) {
  auto const good = encode(some_header());
  for (std::size_t bit = 0; bit < header_bytes * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    auto const header = decode(bytes, no_limit);
    ASSERT_FALSE(header) << "bit " << bit;
    auto const expected = bit < 32 ? Errc::wire_not_prdist : bit < 48 ? Errc::wire_version : Errc::wire_checksum;
    EXPECT_EQ(header.error().code(), expected) << "bit " << bit;
  }
}

TEST(Frame, SaysWhatIsWrong) {
  auto bytes = encode(some_header());
  std::memcpy(bytes.data(), "GET /healthz\r\n\r\n", 16);
  EXPECT_STREQ(decode(bytes, no_limit).error().what(),
               "prdist[wire.not_prdist] the peer sent 'GET /healthz\\r\\n\\r\\n' where a frame begins: it does not "
               "speak this protocol "
               "(is the port right?)");
  EXPECT_STREQ(
      decode(forged([](Header& it) { it.version = 2; }), no_limit).error().what(),
      "prdist[wire.version] the peer speaks version 2 of the wire, this program version 1: build both from one "
      "release");
  bytes = encode(some_header());
  bytes[20] ^= std::byte{1};
  EXPECT_STREQ(decode(bytes, no_limit).error().what(),
               "prdist[wire.checksum] the header of a frame arrived damaged: the connection cannot be trusted");
  EXPECT_STREQ(decode(encode(some_header()), 4095).error().what(),
               "prdist[wire.too_large] a frame of 4096 bytes, the limit is 4095: ask for fewer keys at a time or raise "
               "the limit on both sides");
}

TEST(Frame, TheLimitItselfIsAllowed) {
  EXPECT_TRUE(decode(encode(some_header()), 4096));
  EXPECT_FALSE(decode(forged([](Header& it) { it.payload = no_limit; }), no_limit - 1));
}

TEST(Frame, NoiseIsNeverTakenForAHeader) {
  test::Random random(1);
  for (int i = 0; i < 10000; ++i) {
    HeaderBytes bytes;
    for (auto& each : bytes) each = static_cast<std::byte>(random.bits());
    EXPECT_FALSE(decode(bytes, no_limit));
  }
  EXPECT_FALSE(decode(HeaderBytes{}, no_limit));
}
