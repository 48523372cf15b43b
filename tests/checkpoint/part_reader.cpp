#include <prdist/checkpoint/part_reader.hpp>

#include <gtest/gtest.h>

#include "sample.hpp"

namespace prdist {
namespace {

auto const everything = [](auto, auto) { return true; };

std::vector<RowBlock> all_blocks(std::string const& path) {
  std::vector<RowBlock> blocks;
  PartReader(path).for_each(everything, [&](RowBlock const& block) { blocks.push_back(block); });
  return blocks;
}

class PartReaderTest : public testing::Test {
 protected:
  std::vector<RowBlock> const blocks_{
      rows_of(1, {10, 11, 12}, 0), rows_of(200, {13}, 5), removed(1, {14, 15}), dense_rows(2), counters(1, 77),
      on_probation(1, {90, 91})};
  TempDir dir_;
  std::string path_ = (dir_.path() / "part-003").native();
  PartSummary part_ = write_part(dir_.path().native(), 3, blocks_);
};

TEST_F(PartReaderTest, GivesBackWhatWasWritten) {
  EXPECT_EQ(all_blocks(path_), blocks_);
  PartReader const reader(path_);
  EXPECT_EQ(reader.server(), 3U);
  EXPECT_EQ(reader.rows(), 5U);
  EXPECT_EQ(reader.bytes(), part_.bytes);
  EXPECT_EQ(reader.checksum_of_all(), part_.checksum);
}

TEST_F(PartReaderTest, APartWithoutRowsIsAPart) {
  write_part(dir_.path().native(), 4, {});
  EXPECT_TRUE(all_blocks((dir_.path() / "part-004").native()).empty());
}

TEST_F(PartReaderTest, ReadsOnlyTheBlocksAskedFor) {
  PartReader const reader(path_);
  // The other blocks are destroyed: they must not be looked at.
  for (auto const& block : reader.blocks()) {
    if (block.shard != 200) flip_bit(path_, block.offset + sizeof block);
  }
  std::vector<RowBlock> found;
  reader.for_each([](TableId table, std::uint32_t shard) { return table == table_id("embedding") && shard == 200; },
                  [&](RowBlock const& block) { found.push_back(block); });
  EXPECT_EQ(found, std::vector<RowBlock>{blocks_[1]});
  EXPECT_NE(error_of([&] { all_blocks(path_); }), "no error");
}

TEST_F(PartReaderTest, AFileCutAtAnyByteIsAnError) {
  for (auto size = part_.bytes; size-- > 0;) {
    std::filesystem::resize_file(path_, size);
    auto const said = error_of([&] { PartReader{path_}; });
    EXPECT_TRUE(said.starts_with("prdist[checkpoint.damaged] " + path_ + ", at byte ")) << size << ": " << said;
    EXPECT_TRUE(said.ends_with(": restore the file from a copy, or load an older checkpoint")) << said;
  }
}

TEST_F(PartReaderTest, AnyFlippedBitIsAnError) {
  for (std::uint64_t at = 0; at < part_.bytes; ++at) {
    flip_bit(path_, at);
    auto const said = error_of([&] { all_blocks(path_); });
    EXPECT_TRUE(said.starts_with("prdist[checkpoint.")) << "byte " << at << ": " << said;
    EXPECT_NE(said.find(path_), std::string::npos) << said;
    flip_bit(path_, at);
  }
  EXPECT_EQ(all_blocks(path_), blocks_);
}

TEST_F(PartReaderTest, BytesBehindTheEndAreAnError) {
  std::ofstream(path_, std::ios::app) << "x";
  EXPECT_NE(error_of([&] { PartReader{path_}; }).find("has no closing record, so it was cut off or never finished"),
            std::string::npos);
}

TEST_F(PartReaderTest, ADamagedRowIsNamedByTableShardAndByte) {
  flip_bit(path_, 64 + 64 + 8 * 3 + 5);
  auto const said = error_of([&] { all_blocks(path_); });
  EXPECT_TRUE(said.starts_with(concat("prdist[checkpoint.damaged] ", path_, ", at byte 128, the block of table ",
                                      table_id("embedding"), ", shard 1 has checksum ")))
      << said;
}

TEST_F(PartReaderTest, ATableIsNamedWhenItsNameIsKnown) {
  flip_bit(path_, 64 + 64 + 8 * 3 + 5);
  PartReader const reader(path_, {{table_id("embedding"), "embedding"}});
  auto const said = error_of([&] { reader.for_each(everything, [](auto const&) {}); });
  EXPECT_TRUE(said.starts_with(concat("prdist[checkpoint.damaged] ", path_,
                                      ", at byte 128, the block of table 'embedding', shard 1 has checksum ")))
      << said;
}

/// Gives a file the head of another format; all else is as it was.
void change_format(std::string const& path, std::uint32_t version) {
  auto const head = detail::sealed(PartHead{.version = version, .server = 3});
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write(reinterpret_cast<char const*>(&head), sizeof head);
}

TEST_F(PartReaderTest, AFileOfFormatOneIsReadAsBefore) {
  std::vector<RowBlock> const rows(blocks_.begin(), blocks_.begin() + 4);
  write_part(dir_.path().native(), 3, rows);
  change_format(path_, 1);
  EXPECT_EQ(all_blocks(path_), rows);
}

TEST_F(PartReaderTest, FormatOneHasRowsOnly) {
  change_format(path_, 1);
  EXPECT_NE(error_of([&] { PartReader{path_}; }).find("the index does not fit at the block of table "),
            std::string::npos);
}

TEST_F(PartReaderTest, AForeignFileIsNotAPart) {
  auto const path = dir_.file("foreign", std::string(500, 'x'));
  EXPECT_EQ(error_of([&] { PartReader{path}; }),
            "prdist[checkpoint.damaged] " + path +
                ", at byte 0, does not begin as a part file of prdist does: restore the file from a copy, or load an "
                "older checkpoint");
  auto const small = dir_.file("small", "PRDPART\n");
  EXPECT_NE(error_of([&] { PartReader{small}; }).find("has 8 bytes, fewer than any part file"), std::string::npos);
}

TEST_F(PartReaderTest, ANewerFormatIsRefusedByItsNumber) {
  auto const head = detail::sealed(PartHead{.version = part_format + 1});
  std::string text(reinterpret_cast<char const*>(&head), sizeof head);
  auto const path = dir_.file("newer", text + std::string(200, '\0'));
  EXPECT_EQ(error_of([&] { PartReader{path}; }),
            "prdist[checkpoint.version] " + path +
                ", was written in format 3, this release reads up to 2: use the release that wrote it, or a later one");
}

TEST_F(PartReaderTest, AFileShortenedWhileItIsReadIsAnError) {
  PartReader const reader(path_);
  std::filesystem::resize_file(path_, 150);
  EXPECT_NE(error_of([&] {
              reader.for_each(everything, [](auto const&) {});
            }).find("at byte 150, ended while it was read, so another program shortened it"),
            std::string::npos);
}

/// A file whose checksums are all right and whose numbers are not.
std::string forged(TempDir const& dir, PartBlock block, PartTail tail, std::string const& body) {
  auto const bytes = [](auto const& record) {
    return std::string(reinterpret_cast<char const*>(&record), sizeof record);
  };
  block = detail::sealed(block);
  tail.index = checksum(detail::bytes_of_record(block));
  return dir.file("forged",
                  bytes(detail::sealed(PartHead{})) + bytes(block) + body + bytes(block) + bytes(detail::sealed(tail)));
}

TEST_F(PartReaderTest, NumbersThatDoNotFitTheFileAreRefusedBeforeMemoryIsTaken) {
  std::string const body(20, 'b');
  PartBlock const block{.count = 1, .row_bytes = 12, .offset = 64};
  PartTail const tail{.index_offset = 148, .blocks = 1, .rows = 1};
  auto const said = [&](PartBlock const& b, PartTail const& t) {
    return error_of([&] { PartReader{forged(dir_, b, t, body)}; });
  };
  EXPECT_EQ(said(block, tail), "no error");
  auto huge = block;
  huge.count = ~std::uint64_t{0} / 20 + 1;
  EXPECT_NE(said(huge, tail).find("the index does not fit at the block of table 0, shard 0"), std::string::npos);
  auto wide = block;
  wide.row_bytes = 1 << 20;
  EXPECT_NE(said(wide, tail).find("the block of table 0, shard 0 reaches into the index"), std::string::npos);
  auto narrow = block;
  narrow.row_bytes = 11;
  EXPECT_NE(said(narrow, tail).find("the index does not cover the file"), std::string::npos);
  auto strange = block, astray = block;
  strange.kind = static_cast<BlockKind>(4);
  EXPECT_NE(said(strange, tail).find("the index does not fit at the block of table 0, shard 0"), std::string::npos);
  astray.shard = shard_count;
  EXPECT_NE(said(astray, tail).find("the index does not fit at the block of table 0, shard 256"), std::string::npos);
  auto many = tail;
  many.blocks = ~std::uint64_t{0};
  EXPECT_NE(said(block, many).find("its closing record does not fit its size"), std::string::npos);
}

}  // namespace
}  // namespace prdist
