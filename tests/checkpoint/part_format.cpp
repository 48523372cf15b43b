#include <prdist/checkpoint/part_format.hpp>

#include <gtest/gtest.h>

namespace prdist {
namespace {

TEST(PartFormat, NamesAndNumbersHaveAFixedWidthAndGrow) {
  EXPECT_EQ(part_name(0), "part-000");
  EXPECT_EQ(part_name(17), "part-017");
  EXPECT_EQ(part_name(1234), "part-1234");
  EXPECT_EQ(copy_name(7), "copy-007");
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0xfedcba9876543210), "fedcba9876543210");
}

TEST(PartFormat, ASealCoversEveryFieldBeforeIt) {
  auto const sealed = detail::sealed(PartBlock{.table = 7, .shard = 3, .count = 5, .row_bytes = 12, .offset = 64});
  EXPECT_EQ(sealed.checksum, detail::checksum_of_record(sealed));
  for (std::size_t i = 0; i < sizeof sealed - sizeof sealed.checksum; ++i) {
    auto other = sealed;
    std::as_writable_bytes(std::span(&other, 1))[i] ^= std::byte{1};
    EXPECT_NE(other.checksum, detail::checksum_of_record(other)) << "byte " << i;
  }
}

TEST(PartFormat, IsTheOneThatFilesOfVersionOneHave) {
  // What is written today must be read by every later release.
  EXPECT_EQ(detail::sealed(PartHead{.version = 1, .server = 5}).checksum, 5992649472688842425U);
  EXPECT_EQ(PartBlock{.count = 3}.body_bytes(), 24U);
}

}  // namespace
}  // namespace prdist
