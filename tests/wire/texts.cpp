#include <prdist/wire/texts.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Texts, ComeBackAsTheyWere) {
  for (Texts const& texts : {Texts{}, Texts{{0, ""}}, Texts{{0, "a"}, {7, std::string("\0x", 2)}, {70000, "end"}}}) {
    EXPECT_EQ(decode_texts(encode_texts(texts)).value(), texts);
  }
}

TEST(Texts, RefusesEveryCutAndARepetition) {
  auto const payload = encode_texts({{1, "ab"}, {2, ""}});
  for (std::size_t size = 1; size < payload.size(); ++size) {
    if (size == 10) continue;  // a whole first text
    EXPECT_FALSE(decode_texts(ConstBytes(payload).first(size))) << size;
  }
  EXPECT_EQ(decode_texts(ConstBytes(payload).first(7)).error().message(), "the texts of a meeting end within a number");
  EXPECT_EQ(decode_texts(ConstBytes(payload).first(9)).error().message(),
            "the text of trainer 1 should have 2 bytes, 1 are left");
  auto twice = encode_texts({{1, ""}});
  twice.insert(twice.end(), twice.begin(), twice.begin() + 8);
  EXPECT_EQ(decode_texts(twice).error().message(), "trainer 1 has two texts in one meeting");
}
