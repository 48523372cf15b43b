#include <prdist/checkpoint/from_paddle.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <prdist/data/counter_random.hpp>
#include <prdist/optim/kernel.hpp>

#include "../data/error_text.hpp"
#include "paddle_rules.hpp"

namespace prdist {
namespace {

constexpr PaddleNumbers numbers{.rate = 0.01F};

SparseSpec spec_of(PaddleRule rule, std::size_t dim) {
  return {.name = "embedding", .dim = dim, .optimizer = equal_of(rule, numbers)};
}

std::vector<float> converted(FromPaddle& rows, PaddleRow const& row) {
  std::vector<float> out(rows.row_bytes() / sizeof(float));
  rows.convert(row, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

/// Between -1 and 1, the same every time.
double gradient(std::uint64_t n) {
  return static_cast<double>(mix(n) >> 40) / 8388608.0 - 1;
}

/// By our kernel.
void push(SparseSpec const& spec, std::vector<float>& row, std::vector<double> const& g) {
  std::vector<float> const gradients(g.begin(), g.end());
  float* const rows[]{row.data()};
  float const* const of_rows[]{gradients.data()};
  row_kernel(spec.optimizer)(spec.optimizer, rows, of_rows, 1, spec.dim);
}

/// A row of Paddle's after `steps` pushes, embedx_w made by the `late`-th of them as it is in Paddle.
struct Trained {
  Trained(PaddleRule rule, std::size_t dim, int steps, int late, bool alike = false)
      : embed(rule, {0.3}), embedx(rule, std::vector<double>(dim - 1, -0.2)), dim_(dim), alike_(alike) {
    for (int i = 0; i < steps; ++i) push(i >= late);
  }

  std::vector<double> push(bool both = true) {
    std::vector<double> g(dim_);
    // Alike: of one size, so that sums over the row and over its pieces are the same.
    for (std::size_t i = 0; i < dim_; ++i) g[i] = alike_ ? 0.25 : gradient(++draws_);
    embed.push({g[0]});
    if (both) embedx.push({g.begin() + 1, g.end()});
    return g;
  }

  PaddlePiece embed, embedx;

 private:
  std::size_t dim_;
  bool alike_;
  std::uint64_t draws_ = 0;
};

TEST(FromPaddle, AdamGoesOnAsInPaddle) {
  for (int const steps : {1, 2, 7, 40, 900, 3000}) {
    auto const spec = spec_of(PaddleRule::adam, 9);
    Trained paddle(PaddleRule::adam, 9, steps, 0);
    FromPaddle rows(spec, PaddleRule::adam);
    auto row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
    EXPECT_EQ(rows.oldest(), static_cast<std::uint64_t>(steps));
    for (int more = 0; more < 3; ++more) {
      auto const before = row;
      auto const old = paddle;
      push(spec, row, paddle.push());
      for (std::size_t i = 0; i < 9; ++i) {
        auto const moved = i == 0 ? paddle.embed.w[0] - old.embed.w[0] : paddle.embedx.w[i - 1] - old.embedx.w[i - 1];
        EXPECT_NEAR(double{row[i]} - double{before[i]}, moved, 1e-4 * std::abs(moved) + 2e-7) << steps << ' ' << i;
      }
    }
    EXPECT_TRUE(rows.notes().empty());
  }
}

TEST(FromPaddle, AdamWhoseEmbedIsAStepAheadKeepsItsCorrectedMoments) {
  for (int const steps : {3, 10, 100}) {
    auto const spec = spec_of(PaddleRule::adam, 9);
    Trained paddle(PaddleRule::adam, 9, steps, 1);
    FromPaddle rows(spec, PaddleRule::adam);
    auto row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
    auto const age = static_cast<double>(steps - 1);
    EXPECT_NEAR(double{row[27]}, std::pow(0.9, age), 1e-6);
    EXPECT_NEAR(double{row[28]}, std::pow(0.999, age), 1e-5);
    EXPECT_NEAR(double{row[9]} / (1 - std::pow(0.9, age)), paddle.embed.state[0] / (1 - std::pow(0.9, steps)), 1e-5);
    EXPECT_NEAR(double{row[18]} / (1 - std::pow(0.999, age)), paddle.embed.state[1] / (1 - std::pow(0.999, steps)),
                1e-4);
    auto const before = row;
    auto const old = paddle;
    push(spec, row, paddle.push());
    for (std::size_t i = 1; i < 9; ++i) {
      EXPECT_NEAR(double{row[i]} - double{before[i]}, paddle.embedx.w[i - 1] - old.embedx.w[i - 1], 2e-6) << i;
    }
    // Not the same, and close: a tenth of the rate after three steps, a thousandth after a hundred.
    EXPECT_NEAR(double{row[0]} - double{before[0]}, paddle.embed.w[0] - old.embed.w[0], 0.01 * 0.5 / steps);
    EXPECT_EQ(rows.notes(), (std::vector<std::string>{
                                "table 'embedding': in 1 rows embed_w had taken other steps than embedx_w; they have "
                                "the age of embedx_w now"}));
  }
}

TEST(FromPaddle, PowersAreThoseOfARowThatWasTrainedHere) {
  auto const spec = spec_of(PaddleRule::adam, 2);
  std::vector<float> own(row_floats(spec.optimizer, 2));
  write_first_state(spec.optimizer, own.data(), 2);
  for (int i = 0; i < 700; ++i) push(spec, own, {0.5, 0.5});
  Trained paddle(PaddleRule::adam, 2, 700, 0);
  FromPaddle rows(spec, PaddleRule::adam);
  auto const row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
  EXPECT_EQ(row[6], own[6]);
  EXPECT_EQ(row[7], own[7]);
}

TEST(FromPaddle, NaiveGoesOnAsInPaddle) {
  auto const spec = spec_of(PaddleRule::naive, 4);
  Trained paddle(PaddleRule::naive, 4, 5, 0);
  FromPaddle rows(spec, PaddleRule::naive);
  auto row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
  push(spec, row, paddle.push());
  EXPECT_NEAR(double{row[0]}, paddle.embed.w[0], 1e-6);
  EXPECT_NEAR(double{row[3]}, paddle.embedx.w[2], 1e-6);
}

TEST(FromPaddle, AdagradHasTheSumOfTheWholeRow) {
  auto const spec = spec_of(PaddleRule::adagrad, 5);
  Trained paddle(PaddleRule::adagrad, 5, 8, 0);
  FromPaddle rows(spec, PaddleRule::adagrad);
  auto const row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
  // What our rule adds up from the same gradients.
  std::vector<float> own(row_floats(spec.optimizer, 5));
  write_first_state(spec.optimizer, own.data(), 5);
  Trained again(PaddleRule::adagrad, 5, 0, 0);
  for (int i = 0; i < 8; ++i) push(spec, own, again.push());
  EXPECT_NEAR(row[5], own[5], 1e-5F);
  EXPECT_EQ(rows.notes(), (std::vector<std::string>{
                              "table 'embedding': one sum per row, where Paddle keeps one for embed_w and one for "
                              "embedx_w"}));
}

TEST(FromPaddle, RulesOfRowsGoOnAsInPaddleWhenGradientsAreAlike) {
  for (auto const rule : {PaddleRule::adagrad, PaddleRule::shared_adam}) {
    auto const spec = spec_of(rule, 5);
    Trained paddle(rule, 5, 12, 0, true);
    FromPaddle rows(spec, rule);
    auto row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
    for (int more = 0; more < 3; ++more) push(spec, row, paddle.push());
    EXPECT_NEAR(double{row[0]}, paddle.embed.w[0], 2e-6) << name_of(rule);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_NEAR(double{row[i]}, paddle.embedx.w[i - 1], 2e-6) << name_of(rule);
  }
}

TEST(FromPaddle, StdAdagradMovesLessByTheStepsOwnGradientAlone) {
  auto const spec = spec_of(PaddleRule::std_adagrad, 4);
  Trained paddle(PaddleRule::std_adagrad, 4, 20, 0);
  FromPaddle rows(spec, PaddleRule::std_adagrad);
  auto row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
  auto const before = row;
  auto const old = paddle;
  auto const g = paddle.push();
  push(spec, row, g);
  for (std::size_t i = 1; i < 4; ++i) {
    auto const sum = 3 + old.embedx.state[i - 1];
    auto const moved = (paddle.embedx.w[i - 1] - old.embedx.w[i - 1]) * std::sqrt(sum / (sum + g[i] * g[i]));
    EXPECT_NEAR(double{row[i]} - double{before[i]}, moved, 1e-7);
  }
}

TEST(FromPaddle, StatisticsAreKeptWhenTheTableKeepsThem) {
  auto spec = spec_of(PaddleRule::naive, 2);
  spec.statistics.kept = true;
  PaddleRow const from{
      .key = 5, .unseen_days = 3, .delta_score = 0.5F, .show = 7, .click = 2, .embed_w = 1, .embedx_w = {2}};
  auto const known = [&](std::uint32_t day, FromPaddle&& rows) {
    (void)day;
    auto const row = converted(rows, from);
    return std::pair(RowLayout(spec).statistics(row.data()), rows.notes());
  };
  auto const [kept, silent] = known(10, FromPaddle(spec, PaddleRule::naive, false, 10));
  EXPECT_EQ(kept.show, 7);
  EXPECT_EQ(kept.click, 2);
  EXPECT_EQ(kept.delta_score, 0.5F);
  EXPECT_EQ(kept.day, 7U);
  EXPECT_TRUE(silent.empty());
  auto const [cut, told] = known(1, FromPaddle(spec, PaddleRule::naive, false, 1));
  EXPECT_EQ(cut.day, 0U);
  EXPECT_EQ(told, (std::vector<std::string>{"table 'embedding': 1 rows were unseen for up to 3 days and count from day "
                                            "0: give --day 3 or more to keep that"}));
}

TEST(FromPaddle, ARowWithoutEmbedxStartsAnew) {
  auto const spec = spec_of(PaddleRule::adam, 3);
  FromPaddle rows(spec, PaddleRule::adam);
  auto const row = converted(rows, {.key = 5, .embed_w = 0.5F, .embed_state = {0.1F, 0.001F, 0.81F, 0.998001F}});
  EXPECT_EQ(row, (std::vector<float>{0.5F, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(rows.notes(), (std::vector<std::string>{
                              "table 'embedding': 1 rows had no embedx_w yet: it is 0, and their state starts anew"}));
}

TEST(FromPaddle, WeightsAloneGoToAnyRule) {
  SparseSpec const spec{.name = "embedding", .dim = 3, .optimizer = Adagrad{.initial = 0.5F}};
  FromPaddle rows(spec, PaddleRule::adam, true);
  Trained paddle(PaddleRule::adam, 3, 4, 0);
  auto const row = converted(rows, row_of(1, paddle.embed, paddle.embedx));
  EXPECT_EQ(row, (std::vector<float>{row[0], row[1], row[2], 0.5F, 0.5F, 0.5F}));
  EXPECT_NEAR(double{row[0]}, paddle.embed.w[0], 1e-6);
  EXPECT_EQ(rows.notes(),
            (std::vector<std::string>{"table 'embedding': weights alone, the state of adagrad starts anew"}));
}

TEST(FromPaddle, OtherRulesAndOtherBetasAreRefused) {
  EXPECT_EQ(
      error_of([] { FromPaddle(SparseSpec{.name = "t", .dim = 2, .optimizer = Ftrl{}}, PaddleRule::adam); }),
      "prdist[config.contradiction] table 't', state of Paddle's adam can go on as adam and the table is declared "
      "with ftrl: declare it so, or take the weights alone");
  auto const spec = spec_of(PaddleRule::adam, 2);
  FromPaddle rows(spec, PaddleRule::adam);
  auto const said = [&](float power1, float power2) {
    return error_of([&] {
      (void)converted(rows, {.key = 5,
                             .embed_w = 1,
                             .embed_state = {0, 0, power1, power2},
                             .embedx_w = {1},
                             .embedx_state = {0, 0, 0.9F, 0.999F}});
    });
  };
  EXPECT_EQ(said(0.81F, 0.998001F), "no error");
  EXPECT_EQ(said(0.64F, 0.998001F),
            "prdist[data.line] key 5, its powers of the betas 0.64 and 0.998001 are not of one step with beta1 0.9 and "
            "beta2 0.999: give the betas of the job that saved it, or take the weights alone");
  EXPECT_NE(said(0.81F, 1.0F), "no error");
  // So many steps that nothing is left of the powers.
  EXPECT_EQ(said(0.0F, 0.0F), "no error");
}

}  // namespace
}  // namespace prdist
