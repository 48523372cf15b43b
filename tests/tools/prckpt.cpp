// The program over checkpoints: what it prints and how it ends.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <prdist/checkpoint/paddle_v2.hpp>
#include <prdist/version.hpp>

#include "../checkpoint/paddle_tables.hpp"
#include "../checkpoint/sample.hpp"
#include "../support/run_program.hpp"

namespace prdist {
namespace {

test::Ran prckpt(std::string const& arguments) {
  return test::run_program(PRCKPT_PROGRAM, arguments);
}

void expect(test::Ran const& ran, int code, std::string const& text) {
  EXPECT_EQ(ran.code, code) << ran.text;
  EXPECT_NE(ran.text.find(text), std::string::npos) << ran.text << "\nwanted: " << text;
}

TEST(Prckpt, ListsWhatIsCompleteAndSaysWhyAnotherIsNot) {
  TempDir const dir;
  auto const ckpt = dir.path().native();
  auto const full = save(ckpt, 1, {{rows_of(0, {1, 2}, 10), dense_rows(1)}, {rows_of(1, {3}, 30)}});
  save(ckpt, 2, {{rows_of(0, {2}, 20)}}, CheckpointBase{1, full.id});
  save(ckpt, 3, {{rows_of(0, {1}, 1)}});
  std::filesystem::remove(ckpt + "/pass-00003/done");
  std::filesystem::create_directory(ckpt + "/pass-00004.tmp-job");
  auto const ran = prckpt("list " + ckpt);
  expect(ran, 0,
         "pass-00001  full, step 100, tables embedding, dense, 4 rows, 0.0 MiB, 2 servers, 0 workers' places, "
         "2026-01-02T03:04:05Z, complete\n");
  expect(ran, 0, "pass-00002  changes since pass-00001, step 200, tables embedding, dense, 1 rows");
  expect(ran, 0, "pass-00003  cannot be loaded: prdist[checkpoint.missing] ");
  expect(ran, 0, "pass-00004.tmp-job  being written, or left by a save that did not end\n");
  TempDir const empty;
  expect(prckpt("list " + empty.path().native()), 78,
         ", has no complete checkpoint: save one first, or check the path");
  expect(prckpt("list " + ckpt + "/nowhere"), 78, "prdist[checkpoint.missing] " + ckpt + "/nowhere, is no folder");
}

TEST(Prckpt, VerifyReadsEveryBlockAndNamesTheDamagedOnes) {
  TempDir const dir;
  auto const ckpt = dir.path().native();
  save(ckpt, 1, {{rows_of(0, {1, 2}, 10), rows_of(1, {3}, 1), rows_of(2, {4}, 1), dense_rows(1), counters(0, 3)}});
  save(ckpt, 2, {{rows_of(0, {1}, 10)}});
  auto const path = ckpt + "/pass-00001";
  expect(prckpt("verify " + path), 0, path + ": 1 parts, 5 blocks, 5 rows, 0.0 MiB, all good\n");
  flip_bit(path + "/part-000", 64 + 64 + 20);                          // a row of the first block
  flip_bit(path + "/part-000", 64 + (64 + 40) + (64 + 20) + 64 + 10);  // and of the third
  auto const ran = prckpt("verify " + ckpt);
  expect(ran, 78,
         "prdist[checkpoint.damaged] " + path + "/part-000, at byte 128, the block of table 'embedding', shard 0 ");
  expect(ran, 78, ", shard 2 has checksum ");
  expect(ran, 78, path + ": 2 of 5 blocks are damaged\n");
  expect(ran, 78, ckpt + "/pass-00002: 1 parts, 1 blocks, 1 rows, 0.0 MiB, all good\n");
  std::filesystem::remove(ckpt + "/pass-00002/part-000");
  expect(prckpt("verify " + ckpt + "/pass-00002"), 78, "/pass-00002/part-000, cannot be opened");
  ASSERT_EQ(::mkfifo((ckpt + "/pass-00002/part-000").c_str(), 0600), 0);
  expect(prckpt("verify " + ckpt), 78, "/pass-00002/part-000, is a FIFO and not a file: check the path");
  expect(prckpt("list " + ckpt), 0, "/pass-00002/part-000, is a FIFO and not a file: check the path");
}

TEST(Prckpt, ShowsATableAndARow) {
  TempDir const dir;
  auto const ckpt = dir.path().native();
  save(ckpt, 1, {{rows_of(static_cast<std::uint32_t>(shard_of(hash_key(5))), {5}, 10), dense_rows(1)}});
  auto const ran = prckpt("show " + ckpt + " --key 5 --key 6");
  expect(ran, 0, "  key 5: 10 10.5\n    state of row_adagrad: 9\n");
  expect(ran, 0, "  key 6: has no row\n");
  expect(ran, 0, "  part-000  0.0 MiB\n");
  expect(ran, 0, "  fc0.w (3): 1 2 3\n  fc0.b (1): 4\n");
  auto const one = prckpt("show " + ckpt + "/pass-00001 --table dense");
  expect(one, 0, "fc0.w (3)");
  EXPECT_EQ(one.text.find("embedding  "), std::string::npos) << one.text;
  expect(prckpt("show " + ckpt + " --table nothing"), 78, "has no table 'nothing': see `prckpt show` without --table");
}

TEST(Prckpt, ExportsWhatNumpyReads) {
  TempDir const dir;
  auto const ckpt = (dir.path() / "ckpt").native(), model = (dir.path() / "model.npz").native();
  save(ckpt, 1, {{dense_rows(1)}});
  expect(prckpt("export " + ckpt + ' ' + model), 0, model + ": " + ckpt + "/pass-00001, step 100\n");
  EXPECT_TRUE(std::filesystem::exists(model));
}

TEST(Prckpt, BringsTablesFromPaddleAndBack) {
  TempDir const dir;
  auto const at = dir.path().native();
  write_small_tables(at + "/tables");
  std::string const network = " --slots 1 --dense-features 2 --hidden 2";
  auto const ran = prckpt("from-paddle " + at + "/tables " + at + "/ckpt --steps 7" + network);
  expect(ran, 0, at + "/ckpt/pass-00000: pass-00000  full, step 2, tables embedding, dense, 41 rows");
  expect(ran, 0, "table 'embedding': rows of ");
  expect(ran, 0, " floats, as told by its fields and --rule adam\n");
  expect(prckpt("verify " + at + "/ckpt"), 0, "all good");
  expect(prckpt("to-paddle " + at + "/ckpt " + at + "/back --shards 4 --plain" + network), 0,
         at + "/back: from " + at + "/ckpt/pass-00000, for shard_num 4\n");
  EXPECT_TRUE(std::filesystem::exists(at + "/back/000/part-000-00003"));
  expect(prckpt("from-paddle " + at + "/back " + at + "/again" + network), 0, "41 rows");
  expect(prckpt("to-paddle " + at + "/ckpt " + at + "/sgd --shards 4 --dense-optimizer sgd" + network), 0, "for SGD\n");
  expect(prckpt("to-paddle " + at + "/ckpt " + at + "/other --dense-optimizer ftrl"), 64, "ftrl");
  // By the names of any program's variables.
  expect(prckpt("from-paddle " + at + "/tables " + at +
                "/named --variable fc0.b_0=h.b:2 --variable fc0.w_0=h.w:5x2 "
                "--variable fc_out.b_0=-:2 --variable fc_out.w_0=o.w:2x2:classes"),
         0, "tables embedding, dense, 41 rows");
  expect(prckpt("show " + at + "/named --table dense"), 0, "  o.w (2x1): 1 1\n");
  // The sparse table alone, for a job with geo, another precision, other rules.
  expect(prckpt("from-paddle " + at + "/tables " + at + "/geo --no-dense --strategy geo"), 0,
         "weights alone, the state of adam starts anew");
  expect(prckpt("show " + at + "/geo --key 8"), 0, "\"apply\":\"add\"");
  expect(prckpt("from-paddle " + at + "/tables " + at + "/half --no-dense --precision bf16 --table t=0"), 0,
         "tables t,");
  expect(prckpt("from-paddle " + at + "/tables " + at + "/ftrl --no-dense --weights-only --optimizer ftrl"), 0,
         "weights alone, the state of ftrl starts anew");
  expect(prckpt("to-paddle " + at + "/ftrl " + at + "/x"), 78, "Paddle has no rule for sparse tables like ftrl");
  expect(prckpt("to-paddle " + at + "/ftrl " + at + "/x --rule std_adagrad"), 0, "Paddle's std_adagrad starts anew");
}

TEST(Prckpt, WhatDoesNotFitPaddlesTablesIsSaid) {
  TempDir const dir;
  auto const at = dir.path().native();
  write_small_tables(at + "/tables");
  auto const said = [&](std::string const& more) {
    return prckpt("from-paddle " + at + "/tables " + at + "/o " + more);
  };
  expect(said("--hidden 3"), 78, "/001, has 18 elements and the 4 variables take ");
  expect(said("--rule adam_d2sum"), 78, "--rule 'adam_d2sum': give naive, adagrad, adagrad_v2, std_adagrad, adam or");
  expect(said("--rule SparseAdaGradV2SGDRule"), 78, "has no equal here, it divides by the sum of all steps: take the");
  expect(said("--optimizer ftrl"), 78,
         "--optimizer ftrl is for --weights-only: with its state, a table goes on as adam");
  expect(said("--strategy Geo"), 64, "--strategy");
  expect(said("--weights-only --optimizer best"), 78, "--optimizer: optimizer 'best': there is no such rule");
  expect(said("--variable w"), 78,
         "--variable 'w': give NAME=PART:ROWSxCOLUMNS, and :transposed or :classes behind it");
  expect(said("--beta1 0.8"), 78, "are not of one step with beta1 0.8 and beta2 0.999: give the betas of the job");
  expect(said("--table t=4 --no-dense"), 78, "/tables/004, is no folder: check the path");
  EXPECT_FALSE(std::filesystem::exists(at + "/o/pass-00000"));
}

TEST(Prckpt, BringsAPassOfV2AndBack) {
  TempDir const dir;
  auto const at = dir.path().native();
  write_v2_pass(at + "/pass-00012", {{"_emb.w0", {.values = {0, 1, 10, 11}}}, {"_fc.w0", {.values = {1, 2, 3}}}});
  expect(prckpt("from-v2 " + at + "/pass-00012 " + at + "/ckpt"), 78, "nothing of it is named: give --embedding");
  expect(prckpt("from-v2 " + at + "/pass-00012 " + at + "/ckpt --embedding _emb.w0"), 78, "give PARAMETER=TABLE:DIM");
  expect(
      prckpt("from-v2 " + at + "/pass-00012 " + at + "/ckpt --embedding _emb.w0=embedding:2 --variable _fc.w0=fc0.w:3"),
      0, "tables embedding, dense, 3 rows");
  expect(prckpt("to-v2 " + at + "/ckpt " + at + "/pass-00013 --embedding _emb.w0=embedding"), 0, "pass-00013: from ");
  EXPECT_EQ(read_v2_pass(at + "/pass-00013").at("_emb.w0").values, (std::vector<float>{0, 1, 10, 11}));
  EXPECT_EQ(read_v2_pass(at + "/pass-00013").at("fc0.w").values, (std::vector<float>{1, 2, 3}));
}

TEST(Prckpt, HelpHasExamplesFirstAndWrongUsageEndsWith64) {
  auto const help = prckpt("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_LT(help.text.find("  prckpt list ckpt "), help.text.find("Usage:"));
  EXPECT_EQ(prckpt("--version").text, std::string(version) + '\n');
  for (auto const* const wrong :
       {"", "list", "show x --key -5", "paint x", "from-paddle a b --shards 4", "to-paddle a b --shards 0"}) {
    EXPECT_EQ(prckpt(wrong).code, 64) << wrong;
  }
  expect(prckpt("lst ckpt"), 64, "'lst' is no command of prckpt: did you mean 'prckpt list'?\n");
  expect(prckpt("paint x"), 64, "'paint' is no command of prckpt: prckpt --help lists them\n");
}

}  // namespace
}  // namespace prdist
