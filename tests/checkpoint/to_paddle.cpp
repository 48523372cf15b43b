#include <prdist/checkpoint/to_paddle.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <prdist/optim/kernel.hpp>

#include "../data/error_text.hpp"
#include "paddle_rules.hpp"

namespace prdist {
namespace {

/// A row of ours after some pushes of gradients that differ over the row, or do not.
std::vector<float> trained(SparseSpec const& spec, int steps, bool alike) {
  std::vector<float> row(row_floats(spec.optimizer, spec.dim), 0.25F);
  write_first_state(spec.optimizer, row.data(), spec.dim);
  for (int i = 0; i < steps; ++i) {
    std::vector<float> g(spec.dim);
    for (std::size_t k = 0; k < g.size(); ++k) g[k] = 0.1F * static_cast<float>(1 + (alike ? 0 : k) + (i % 3));
    float* const rows[]{row.data()};
    float const* const gradients[]{g.data()};
    row_kernel(spec.optimizer)(spec.optimizer, rows, gradients, 1, spec.dim);
  }
  return row;
}

/// Paddle's piece that has loaded a row.
PaddlePiece loaded(PaddleRule rule, std::vector<float> const& w, std::vector<float> const& state, double rate) {
  PaddlePiece piece(rule, {w.begin(), w.end()});
  EXPECT_EQ(piece.state.size(), state.size());
  piece.state.assign(state.begin(), state.end());
  piece.rate = rate;
  return piece;
}

TEST(ToPaddle, PaddleGoesOnAsWeDo) {
  struct Case {
    Optimizer ours;
    PaddleRule theirs;
    double rate;
  };
  for (auto const& [ours, theirs, rate] :
       {Case{Adam{.rate = 0.01F}, PaddleRule::adam, 0.01}, Case{Sgd{.rate = 0.01F}, PaddleRule::naive, 0.01},
        Case{RowAdagrad{.rate = 0.01F}, PaddleRule::adagrad, 0.01},
        Case{SharedAdam{.rate = 0.01F}, PaddleRule::shared_adam, 0.01}}) {
    for (int const steps : {0, 1, 25}) {
      SparseSpec const spec{.name = "t", .dim = 4, .optimizer = ours};
      auto const alike = theirs != PaddleRule::adam;
      auto const row = trained(spec, steps, alike);
      ToPaddle convert(spec);
      EXPECT_EQ(convert.rule(), theirs);
      auto const& out = convert.convert(9, reinterpret_cast<std::byte const*>(row.data()));
      EXPECT_EQ(out.key, 9U);
      EXPECT_EQ(out.show, 1);
      auto embed = loaded(theirs, {out.embed_w}, out.embed_state, rate);
      auto embedx = loaded(theirs, out.embedx_w, out.embedx_state, rate);
      auto const next = trained(spec, steps + 1, alike);
      std::vector<double> g(4);
      for (std::size_t k = 0; k < 4; ++k)
        g[k] = 0.1 * static_cast<double>(1 + (alike ? 0 : k) + (static_cast<std::size_t>(steps) % 3));
      embed.push({g[0]});
      embedx.push({g[1], g[2], g[3]});
      EXPECT_NEAR(embed.w[0], double{next[0]}, 1e-6) << name_of(theirs) << steps;
      for (std::size_t k = 1; k < 4; ++k) EXPECT_NEAR(embedx.w[k - 1], double{next[k]}, 1e-6) << name_of(theirs);
    }
  }
}

TEST(ToPaddle, AdagradGoesOnWithTheNumbersItTells) {
  SparseSpec const spec{.name = "t", .dim = 3, .optimizer = Adagrad{.rate = 0.1F, .initial = 4}};
  auto const row = trained(spec, 10, false);
  ToPaddle convert(spec);
  auto const& out = convert.convert(9, reinterpret_cast<std::byte const*>(row.data()));
  EXPECT_EQ(convert.rule(), PaddleRule::std_adagrad);
  EXPECT_FLOAT_EQ(out.embed_state[0], row[3] - 4);
  EXPECT_FLOAT_EQ(out.embedx_state[1], row[5] - 4);
  EXPECT_EQ(convert.notes(),
            (std::vector<std::string>{"table 't': give Paddle's StdAdaGradSGDRule initial_g2sum 4 and learning_rate "
                                      "0.05 to go on with the same steps"}));
}

TEST(ToPaddle, WhatComesBackIsTheSameToTheBit) {
  for (auto const& ours : {Optimizer(Adam{}), Optimizer(Sgd{}), Optimizer(RowAdagrad{}), Optimizer(SharedAdam{})}) {
    SparseSpec spec{.name = "t", .dim = 4, .optimizer = ours};
    spec.statistics.kept = true;
    auto row = trained(spec, 30, true);
    row.resize(RowLayout(spec).bytes() / sizeof(float));
    RowLayout(spec).set_statistics(row.data(), {.show = 5, .click = 1, .delta_score = 0.5F, .day = 8});
    ToPaddle there(spec, {}, {}, 10);
    auto const& out = there.convert(9, reinterpret_cast<std::byte const*>(row.data()));
    EXPECT_EQ(out.unseen_days, 2);
    FromPaddle here(spec, there.rule(), false, 10);
    std::vector<float> back(row.size());
    here.convert(out, reinterpret_cast<std::byte*>(back.data()));
    for (std::size_t i = 0; i < row.size(); ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(row[i]))
          << name_of(ours) << ' ' << i;
  }
}

TEST(ToPaddle, ARuleThatStartsAnewHasTheStateOfANewRow) {
  SparseSpec const spec{.name = "t", .dim = 3, .optimizer = Ftrl{}};
  EXPECT_EQ(error_of([&] { ToPaddle{spec}; }),
            "prdist[config.contradiction] table 't', Paddle has no rule for sparse tables like ftrl: name one of its "
            "rules, which then starts anew with the weights");
  auto const row = trained(spec, 3, false);
  ToPaddle convert(spec, PaddleRule::adam);
  auto const& out = convert.convert(9, reinterpret_cast<std::byte const*>(row.data()));
  EXPECT_EQ(out.embed_w, row[0]);
  EXPECT_EQ(out.embed_state, (std::vector<float>{0, 0, 0.9F, 0.999F}));
  EXPECT_EQ(out.embedx_state, (std::vector<float>{0, 0, 0, 0, 0.9F, 0.999F}));
  EXPECT_EQ(convert.notes(), (std::vector<std::string>{"table 't': weights alone, Paddle's adam starts anew"}));
}

TEST(ToPaddle, ATableOfGeoHasNoStateToGoOnWith) {
  SparseSpec const spec{.name = "t", .dim = 3, .optimizer = adding, .apply = ApplyRule::add};
  EXPECT_EQ(error_of([&] { ToPaddle{spec}; }),
            "prdist[config.contradiction] table 't', Paddle has no rule for sparse tables like geo's, whose workers "
            "keep the state: name one of its rules, which then starts anew with the weights");
}

}  // namespace
}  // namespace prdist
