#include <prdist/checkpoint/v2_tables.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sample.hpp"

namespace prdist {
namespace {

using Form = PaddleVariable::Form;

std::map<std::string, V2Parameter> small_pass() {
  return {{"_emb.w0", {.values = {0, 1, 10, 11, 20, 21}}},
          {"_fc.w0", {.values = {1, 2, 3, 4, 5, 6}}},
          {"_fc.wbias", {.values = {7, 9}}}};
}

V2Import small_import() {
  V2Import import;
  import.sparse.push_back({"_emb.w0", {.name = "embedding", .dim = 2, .optimizer = Adam {} }});
  import.variables = {{"_fc.w0", "fc0.w", 3, 2, Form::transposed}, { "_fc.wbias", "fc0.b", 1, 2, Form::two_classes }};
  import.dense = DenseSpec{.name = "dense", .parts = parts_of(import.variables), .optimizer = Adam {}};
  return import;
}

TEST(V2Tables, APassBecomesACheckpointAndBack) {
  TempDir const dir;
  auto const pass = (dir.path() / "pass-00012").native(), out = (dir.path() / "ckpt").native();
  write_v2_pass(pass, small_pass());
  std::vector const chain{import_v2(pass, small_import(), out)};
  EXPECT_EQ(chain[0].manifest.tables.at(0).rows, 3U);
  EXPECT_EQ(weights_in(chain), (std::map<Key, float>{{0, 0}, {1, 10}, {2, 20}}));
  auto const dense = read_dense(ChainReader(chain), *small_import().dense);
  EXPECT_EQ(dense.columns[0], (std::vector<float>{1, 3, 5, 2, 4, 6, 2}));
  EXPECT_EQ(dense.columns[1], std::vector<float>(7));

  auto const back = (dir.path() / "pass-00013").native();
  export_v2(chain, back, {.parameters = {{"embedding", "_emb.w0"}}, .rows = 4, .variables = small_import().variables});
  auto expected = small_pass();
  expected["_emb.w0"].values = {0, 1, 10, 11, 20, 21, 0, 0};
  expected["_fc.wbias"].values = {-1, 1};  // the same logit
  EXPECT_EQ(read_v2_pass(back), expected);
  auto const plain = (dir.path() / "pass-00014").native();
  export_v2(chain, plain, {});
  EXPECT_EQ(read_v2_pass(plain).at("embedding").values.size(), 6U);
  EXPECT_EQ(read_v2_pass(plain).at("fc0.b").values, (std::vector<float>{2}));
}

TEST(V2Tables, WhatDoesNotFitIsNamed) {
  TempDir const dir;
  auto const pass = (dir.path() / "pass-00012").native(), out = (dir.path() / "ckpt").native();
  auto const said = [&](auto&& change) {
    auto import = small_import();
    change(import);
    return error_of([&] { (void)import_v2(pass, import, out); });
  };
  EXPECT_NE(said([](auto&) {}).find("has no file 'done'"), std::string::npos);
  auto parameters = small_pass();
  parameters["_old"] = {.format = 1, .values = {1, 2, 3, 4, 5, 6}};
  write_v2_pass(pass, parameters);
  EXPECT_EQ(said([](V2Import& it) { it.sparse[0].parameter = "emb"; }),
            "prdist[checkpoint.missing] " + pass + ", has no parameter 'emb': it has _emb.w0, _fc.w0, _fc.wbias, _old");
  EXPECT_EQ(
      said([](V2Import& it) { it.sparse[0].spec.dim = 4; }),
      "prdist[config.contradiction] " + pass + "/_emb.w0, has 6 values, which are no rows of 4: check the dimension");
  EXPECT_EQ(said([](V2Import& it) { it.sparse[0].parameter = "_old"; }),
            "prdist[config.contradiction] " + pass +
                "/_old, is kept in MKL-DNN's order, which cannot be imported: save it with Paddle's own layout");
  EXPECT_EQ(
      said([](V2Import& it) {
        it.variables[0].rows = 4;
        it.dense->parts = parts_of(it.variables);
      }),
      "prdist[config.contradiction] " + pass + "/_fc.w0, has 6 values and should have 8: check the shape given for it");
  EXPECT_TRUE(passes_in(out).empty());
  std::vector const chain{import_v2(pass, small_import(), out)};
  EXPECT_EQ(
      error_of([&] { export_v2(chain, (dir.path() / "a").native(), {.rows = 2}); }),
      "prdist[config.contradiction] table 'embedding', key 2 is beyond the 2 rows: v2 has a row for every id from "
      "0 on, so ids must be small");
  EXPECT_NE(said([](auto&) {}).find("has checkpoints up to pass-00000"), std::string::npos);
}

}  // namespace
}  // namespace prdist
