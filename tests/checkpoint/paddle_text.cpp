#include <prdist/checkpoint/paddle_text.hpp>

#include <gtest/gtest.h>

#include "../data/error_text.hpp"

namespace prdist {
namespace {

TEST(PaddleText, FoldersAndNamesAreThoseOfPaddle) {
  EXPECT_EQ(paddle_table_folder("model", 0), "model/000");
  EXPECT_EQ(paddle_table_folder("model", 17), "model/017");
  auto const sparse = detail::paddle_file_name("part-001-00003.gz");
  ASSERT_TRUE(sparse);
  EXPECT_EQ(sparse->server, 1U);
  EXPECT_EQ(sparse->shard, 3U);
  auto const dense = detail::paddle_file_name("part-012");
  ASSERT_TRUE(dense);
  EXPECT_EQ(dense->server, 12U);
  EXPECT_FALSE(dense->shard);
  for (auto const* const other : {"part-", "part-x", "part-001-", "part-001-x", "meta", "part-001-00003.bak"}) {
    EXPECT_FALSE(detail::paddle_file_name(other)) << other;
  }
}

TEST(PaddleText, FieldsAreReadStrictly) {
  std::string const path = "000/part-000-00000";
  Line const line{"18446744073709551615 \t1e-60 -2.5 x\x1b ", 7, false};
  detail::PaddleFields fields(path, line);
  EXPECT_EQ(fields.next<Key>(), ~Key{0});
  EXPECT_EQ(fields.next<float>(), 0.0F);
  EXPECT_EQ(fields.next<float>(), -2.5F);
  EXPECT_EQ(
      error_of([&] { (void)fields.next<float>(); }),
      "prdist[data.line] 000/part-000-00000:7, field 4 'x\\x1b' is not a number: check that the layout is the one the "
      "table was saved with, or save it again");
  EXPECT_FALSE(fields.more());
  EXPECT_NE(error_of([&] { (void)fields.next<float>(); }).find(":7, has 4 fields, too few: "), std::string::npos);
  for (auto const* const text : {"nan", "-nan", "inf", "-inf", "1e300", "-3.5e38"}) {
    Line const odd{text, 8, false};
    EXPECT_EQ(error_of([&] { (void)detail::PaddleFields(path, odd).next<float>(); }),
              concat("prdist[data.line] 000/part-000-00000:8, field 1 '", text,
                     "' is not a number that a weight can be: check that the layout is the one the table was saved "
                     "with, or save it again"));
  }
  Line const largest{"-3.4028234e38", 8, false};
  EXPECT_EQ(detail::PaddleFields(path, largest).next<float>(), -std::numeric_limits<float>::max());
  Line const cut{"1 2", 9, true};
  EXPECT_NE(error_of([&] { detail::PaddleFields(path, cut); }).find(":9, the line is longer than any of this layout"),
            std::string::npos);
}

}  // namespace
}  // namespace prdist
