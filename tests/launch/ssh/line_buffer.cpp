// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/line_buffer.hpp>

#include "../support.hpp"

using namespace prdist;

TEST(SshLineBuffer, LinesComeWholeHoweverTheBytesCame) {
  LineBuffer buffer;
  buffer.put("on");
  EXPECT_FALSE(buffer.next());
  buffer.put("e\n\ntwo\nthr");
  EXPECT_EQ(buffer.next(), "one");
  EXPECT_EQ(buffer.next(), "");
  EXPECT_EQ(buffer.next(), "two");
  EXPECT_FALSE(buffer.next());
  buffer.put("ee\n");
  EXPECT_EQ(buffer.next(), "three");
}

TEST(SshLineBuffer, BytesCanBeTakenBetweenLines) {
  LineBuffer buffer;
  buffer.put("size 5\na\nb\ncnext\n");
  EXPECT_EQ(buffer.next(), "size 5");
  EXPECT_EQ(buffer.take(5), "a\nb\nc");
  EXPECT_EQ(buffer.next(), "next");
  EXPECT_EQ(buffer.take(5), "");
}

TEST(SshLineBuffer, AFloodWithoutAnEndIsRefused) {
  LineBuffer buffer;
  std::string const much(1 << 20, 'x');
  auto const text = launch_test::error_of([&] {
    for (int i = 0; i < 17; ++i) buffer.put(much);
    return 0;
  });
  EXPECT_EQ(text,
            "prdist[wire.too_large] ssh: more than 16 MiB came without an end of line: the other side is no prrun "
            "agent");
}
