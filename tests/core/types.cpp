#include <prdist/core/types.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>
#include <vector>

using namespace prdist;

static_assert(std::is_same_v<Key, std::uint64_t>, "keys travel as eight bytes");
static_assert(std::is_convertible_v<Bytes, ConstBytes> && !std::is_convertible_v<ConstBytes, Bytes>);

TEST(Types, BytesOfShowsTheMemoryOfTheValues) {
  std::vector<Key> const keys{0x0807060504030201ULL, std::numeric_limits<Key>::max()};
  auto const bytes = bytes_of(std::span<Key const>(keys));
  ASSERT_EQ(bytes.size(), 16U);
  EXPECT_EQ(static_cast<void const*>(bytes.data()), static_cast<void const*>(keys.data()));
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[7], std::byte{8});
  EXPECT_EQ(bytes[15], std::byte{0xff});
  EXPECT_TRUE(bytes_of(std::span<float const>()).empty());
}
