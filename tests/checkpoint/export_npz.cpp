#include <prdist/checkpoint/export_npz.hpp>

#include <gtest/gtest.h>

#include <string>

#include "python.hpp"
#include "sample.hpp"

namespace prdist {
namespace {

TEST(ExportNpz, HoldsDensePartsAndTheRowsOfTables) {
  TempDir const dir;
  auto const path = (dir.path() / "model.npz").native();
  std::vector<Checkpoint> const chain{
      save(dir.path().native(), 0, {{rows_of(0, {11, 12}, 1), dense_rows(4)}, {rows_of(1, {13}, 7)}})};
  export_npz(chain, path);
  EXPECT_EQ(read_by_python(path),
            "embedding.rows <f4 3x2 1 1.5 2 2.5 7 7.5\nembedding.keys <u8 3 11 12 13\n"
            "fc0.w <f4 3 4 5 6\nfc0.b <f4 1 7\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2) << "no temporary file stays";
}

TEST(ExportNpz, APartHasItsShape) {
  TempDir const dir;
  auto const path = (dir.path() / "model.npz").native();
  PendingCheckpoint pending(dir.path().native(), 0, "test");
  auto manifest = manifest_of(0);
  std::get<DenseSpec>(manifest.tables[1].spec).parts = {{"fc0.w", 4, {}, {2, 2}}};
  add_part(manifest, write_part(pending.path(), 0, {rows_of(0, {1}, 1), dense_rows(4)}));
  (void)pending.commit(manifest);
  // As a loader finds it: the shape has gone through the manifest.
  export_npz(chain_of(*latest(dir.path().native())), path);
  EXPECT_TRUE(read_by_python(path).ends_with("\nfc0.w <f4 2x2 4 5 6 7\n")) << read_by_python(path);
}

TEST(ExportNpz, OfAChainHoldsWhatWasLast) {
  TempDir const dir;
  auto const full = save(dir.path().native(), 0, {{rows_of(0, {11, 12}, 1), dense_rows(4)}});
  auto const second = save(dir.path().native(), 1, {{rows_of(0, {13}, 9), removed(0, {11}), dense_rows(5)}},
                           CheckpointBase{0, full.id});
  auto const path = (dir.path() / "model.npz").native();
  export_npz(chain_of(second), path);
  EXPECT_EQ(read_by_python(path),
            "embedding.rows <f4 2x2 9 9.5 2 2.5\nembedding.keys <u8 2 13 12\nfc0.w <f4 3 5 6 7\nfc0.b <f4 1 8\n");
}

TEST(ExportNpz, HalfPrecisionBecomesFloats) {
  TempDir const dir;
  auto const path = (dir.path() / "model.npz").native();
  PendingCheckpoint pending(dir.path().native(), 0, "test");
  auto manifest = manifest_of(0);
  auto& spec = std::get<SparseSpec>(manifest.tables[0].spec);
  spec.precision = Precision::bf16;
  manifest.servers = 1;
  RowBlock block{.table = table_id("embedding"), .row_bytes = RowLayout(spec).bytes(), .keys = {7}};
  block.rows.resize(block.row_bytes);
  std::uint16_t const weights[] = {0x3fc0, 0xc000};  // 1.5 and -2
  std::memcpy(block.rows.data(), weights, sizeof weights);
  add_part(manifest, write_part(pending.path(), 0, {block, dense_rows(0)}));
  export_npz(std::vector{pending.commit(manifest)}, path);
  EXPECT_TRUE(read_by_python(path).starts_with("embedding.rows <f4 1x2 1.5 -2\n")) << read_by_python(path);
}

TEST(ExportNpz, WhatDoesNotFitIsAnErrorAndLeavesNothing) {
  TempDir const dir;
  auto const path = (dir.path() / "model.npz").native();
  auto const said = [&](std::vector<RowBlock> const& blocks) {
    auto const chain = std::vector{save(dir.path().native(), 0, {blocks})};
    auto text = error_of([&] { export_npz(chain, path); });
    std::filesystem::remove_all(chain[0].path);
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    return text;
  };
  auto narrow = rows_of(0, {1}, 1);
  narrow.row_bytes = 4;
  narrow.rows.resize(4);
  EXPECT_EQ(
      said({narrow}),
      "prdist[table.mismatch] table 'embedding', a row has 4 bytes and its weights take 8: the checkpoint does not "
      "fit its manifest");
  EXPECT_EQ(said({}),
            "prdist[checkpoint.damaged] table 'dense', range 0 is in no part of the checkpoint: load an older "
            "checkpoint");
  auto beyond = dense_rows(0);
  beyond.keys = {1};
  EXPECT_EQ(
      said({beyond}),
      "prdist[checkpoint.damaged] table 'dense' has 1 ranges, and the checkpoint a row for range 1: load an older "
      "checkpoint");
  EXPECT_EQ(error_of([&] { export_npz({}, path); }),
            "prdist[checkpoint.missing] " + path + ", there is no checkpoint to export: save one first");
}

}  // namespace
}  // namespace prdist
