#include <prdist/wire/checksum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;
using test::Random;

namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  Random random(count);
  std::vector<std::byte> bytes(count);
  for (auto& each : bytes) each = static_cast<std::byte>(random.bits());
  return bytes;
}

std::vector<std::uint64_t> checksums(std::vector<ConstBytes> const& pieces) {
  std::size_t size = 0;
  for (auto const& piece : pieces) size += piece.size();
  constexpr std::uint64_t canary = 0x1122334455667788ULL;
  std::vector<std::uint64_t> sums(checksum_count(size) + 1, canary);
  write_checksums(std::span<ConstBytes const>(pieces), std::as_writable_bytes(std::span(sums)));
  EXPECT_EQ(sums.back(), canary) << "one checksum too many";
  sums.pop_back();
  return sums;
}

}  // namespace

TEST(Checksum, OnePerBlockThatIsBegun) {
  static_assert(checksum_count(0) == 0 && checksum_count(1) == 1);
  static_assert(checksum_count(checksum_block) == 1 && checksum_count(checksum_block + 1) == 2);
  static_assert(checksum_count(std::uint64_t{1} << 40) == 1U << 24);
}

// Two releases compare these: XXH3 with seed 0, whose sum of nothing is published.
TEST(Checksum, ValuesArePartOfTheWire) {
  EXPECT_EQ(checksum({}), 0x2d06800538d394c2ULL);
}

TEST(Checksum, BlocksAreCountedOverThePayloadHoweverItIsCut) {
  for (std::size_t const size : {std::size_t{0}, std::size_t{1}, checksum_block - 1, checksum_block, checksum_block + 1,
                                 3 * checksum_block, 3 * checksum_block + 12345}) {
    auto const payload = random_bytes(size);
    std::vector<std::uint64_t> expected;
    for (std::size_t at = 0; at < size; at += checksum_block) {
      expected.push_back(checksum(ConstBytes(payload).subspan(at, std::min(checksum_block, size - at))));
    }
    EXPECT_EQ(checksums({payload}), expected) << size;
    Random random(size);
    for (int cut = 0; cut < 20; ++cut) {
      std::vector<ConstBytes> pieces{{}};  // empty pieces among them
      for (ConstBytes rest(payload); !rest.empty();) {
        auto const most = cut % 2 == 0 ? std::size_t{100000} : std::size_t{2 * checksum_block};
        auto const take = std::min(rest.size(), random.below(most + 1));
        pieces.push_back(rest.first(take));
        rest = rest.subspan(take);
      }
      ASSERT_EQ(checksums(pieces), expected) << size << " bytes in " << pieces.size() << " pieces";
    }
    // Cut exactly at the blocks, and one byte beside them.
    if (size > 2 * checksum_block) {
      auto const all = ConstBytes(payload);
      EXPECT_EQ(checksums({all.first(checksum_block), all.subspan(checksum_block)}), expected);
      EXPECT_EQ(checksums({all.first(checksum_block - 1), all.subspan(checksum_block - 1, 2),
                           all.subspan(checksum_block + 1)}),
                expected);
    }
  }
}

TEST(Checksum, NoticesOneFlippedBitAndOnlyInItsBlock) {
  auto payload = random_bytes(2 * checksum_block + 500);
  auto const before = checksums({payload});
  for (std::size_t const at : {std::size_t{0}, checksum_block - 1, checksum_block, 2 * checksum_block + 499}) {
    for (int bit = 0; bit < 8; ++bit) {
      payload[at] ^= static_cast<std::byte>(1 << bit);
      auto const after = checksums({payload});
      for (std::size_t block = 0; block < before.size(); ++block) {
        EXPECT_EQ(after[block] != before[block], block == at / checksum_block) << "byte " << at << ", bit " << bit;
      }
      payload[at] ^= static_cast<std::byte>(1 << bit);
    }
  }
}

TEST(Checksum, WritesWhereverItIsTold) {
  auto const payload = random_bytes(100);
  std::vector<std::byte> out(9);
  std::vector<Bytes> const writable;
  write_checksums(std::span<Bytes const>(writable), out);  // pieces may be writable, and none
  ConstBytes const piece(payload);
  write_checksums(std::span<ConstBytes const>(&piece, 1), Bytes(out).subspan(1));
  std::uint64_t sum = 0;
  std::memcpy(&sum, out.data() + 1, sizeof sum);
  EXPECT_EQ(sum, checksum(payload));
}
