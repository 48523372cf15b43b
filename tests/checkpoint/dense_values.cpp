#include <prdist/checkpoint/dense_values.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "sample.hpp"

namespace prdist {
namespace {

DenseSpec two_ranges() {
  return {.name = "dense", .parts = {{"a", range_floats, {}}, {"b", 5, {}}}, .optimizer = Adam{}};
}

Checkpoint saved(std::string const& directory, DenseSpec const& spec, DenseValues const& values) {
  PendingCheckpoint pending(directory, 0, "test");
  PartWriter writer(pending.path(), 0);
  write_dense(writer, spec, values);
  Manifest manifest{.servers = 1, .tables = {{.spec = spec}}};
  add_part(manifest, writer.close());
  return pending.commit(std::move(manifest));
}

TEST(DenseValues, AreReadAsTheyWereWrittenOverRanges) {
  TempDir const dir;
  auto const spec = two_ranges();
  std::vector<float> weights(spec.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  auto values = new_dense(spec, weights);
  EXPECT_EQ(values.columns.size(), 3U);
  EXPECT_EQ(values.shared, (std::vector<float>{1, 1}));
  values.columns[1].back() = 7;
  values.columns[2].front() = 8;
  values.shared = {0.5F, 0.25F};
  std::vector const chain{saved(dir.path().native(), spec, values)};
  EXPECT_EQ(chain[0].manifest.tables[0].rows, 2U);
  auto const back = read_dense(ChainReader(chain), spec);
  EXPECT_EQ(back.columns, values.columns);
  EXPECT_EQ(back.shared, values.shared);
}

TEST(DenseValues, OfANewTableHaveTheRulesFirstState) {
  DenseSpec const spec{.name = "d", .parts = {{"a", 3, {}}}, .optimizer = Adagrad{.initial = 0.5F}};
  auto const values = new_dense(spec, {1, 2, 3});
  EXPECT_EQ(values.columns, (std::vector<std::vector<float>>{{1, 2, 3}, {0.5F, 0.5F, 0.5F}}));
  EXPECT_TRUE(values.shared.empty());
}

TEST(DenseValues, OfOtherSizesAreAnError) {
  TempDir const dir;
  PartWriter writer(dir.path().native(), 0);
  auto const spec = two_ranges();
  EXPECT_EQ(error_of([&] { write_dense(writer, spec, {.columns = {std::vector<float>(spec.size())}}); }),
            "prdist[internal.error] table 'dense', 1 columns and 0 shared numbers: give those of adam");
}

TEST(DenseValues, ThatAreTooShortAreAnError) {
  TempDir const dir;
  DenseSpec spec{.name = "dense", .parts = {{"a", 3, {}}}};
  std::vector const chain{saved(dir.path().native(), spec, new_dense(spec, {1, 2, 3}))};
  spec.optimizer = Adam{};
  EXPECT_EQ(error_of([&] { (void)read_dense(ChainReader(chain), spec); }),
            "prdist[table.mismatch] table 'dense', range 0 has 12 bytes and takes 44: the checkpoint does not fit its "
            "manifest");
}

}  // namespace
}  // namespace prdist
