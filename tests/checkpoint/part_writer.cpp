#include <prdist/checkpoint/part_writer.hpp>

#include <gtest/gtest.h>

#include <prdist/checkpoint/part_reader.hpp>

#include "sample.hpp"

namespace prdist {
namespace {

TEST(PartWriter, ReportsWhatTheManifestNeeds) {
  TempDir const dir;
  auto const part = write_part(dir.path().native(), 7,
                               {rows_of(1, {1, 2, 3}, 0), removed(1, {4}), rows_of(2, {}, 0), dense_rows(1),
                                counters(1, 5), on_probation(1, {6, 7})});
  EXPECT_EQ(part.name, "part-007");
  EXPECT_EQ(part.server, 7U);
  EXPECT_EQ(part.bytes, std::filesystem::file_size(dir.path() / "part-007"));
  EXPECT_EQ(part.bytes, 64 + (64 + 3 * 20) + (64 + 8) + (64 + 24) + (64 + 24) + (64 + 32) + 5 * 64 + 64U);
  std::map<TableId, PartSummary::Table> tables;
  for (auto const& table : part.tables) tables[table.table] = table;
  EXPECT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables.at(table_id("embedding")), (PartSummary::Table{table_id("embedding"), 3, 1, 68 + 24 + 32}));
  EXPECT_EQ(tables.at(table_id("dense")), (PartSummary::Table{table_id("dense"), 1, 0, 24}));
}

TEST(PartWriter, TheSameRowsGiveTheSameBytesAndOthersAnotherChecksum) {
  TempDir const a, b, c;
  auto const first = write_part(a.path().native(), 0, {rows_of(1, {1, 2, 3}, 0)});
  EXPECT_EQ(first, write_part(b.path().native(), 0, {rows_of(1, {1, 2, 3}, 0)}));
  EXPECT_EQ(contents(a.path() / "part-000"), contents(b.path() / "part-000"));
  EXPECT_NE(first.checksum, write_part(c.path().native(), 0, {rows_of(1, {1, 2, 4}, 0)}).checksum);
}

TEST(PartWriter, RefusesABlockThatHasNotItsRows) {
  TempDir const dir;
  PartWriter writer(dir.path().native(), 0);
  auto block = rows_of(0, {1, 2}, 0);
  block.rows.pop_back();
  EXPECT_EQ(
      error_of([&] { writer.write(block); }),
      concat("prdist[internal.error] ", dir.path().native(), "/part-000, a block of table ", table_id("embedding"),
             " has 2 keys and 23 bytes of rows of 12: give whole rows, at most 268435456 bytes"));
}

TEST(PartWriter, AFullDiskNamesTheFile) {
  TempDir const dir;
  std::filesystem::create_symlink("/dev/full", dir.path() / "part-000");
  PartWriter writer(dir.path().native(), 0);
  writer.write(rows_of(0, {1, 2}, 0));
  EXPECT_EQ(error_of([&] { (void)writer.close(); }),
            "prdist[checkpoint.file] " + dir.path().native() +
                "/part-000, cannot be written at byte 0, No space left on device: make room, perhaps by keeping fewer "
                "checkpoints, or choose another disk; "
                "what was saved before is untouched");
}

}  // namespace
}  // namespace prdist
