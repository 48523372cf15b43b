#include <prdist/optim/optimizer_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

using namespace prdist;
using testing::HasSubstr;

TEST(OptimizerText, ANameAloneIsTheRuleAsItIs) {
  std::vector<Optimizer> const rules{Sgd{},        Momentum{}, Adagrad{}, RowAdagrad{}, Adam{},
                                     SharedAdam{}, Ftrl{},     RmsProp{}, AdaDelta{},   Lamb{}};
  ASSERT_EQ(rules.size(), std::variant_size_v<UpdateRule>);
  for (auto const& rule : rules) EXPECT_EQ(optimizer_from_text(name_of(rule)).value(), rule) << name_of(rule);
}

TEST(OptimizerText, NumbersStandBehindAColon) {
  EXPECT_EQ(optimizer_from_text("adam:rate=0.25,beta2=0.5").value(), Optimizer(Adam{.rate = 0.25F, .beta2 = 0.5F}));
  EXPECT_EQ(optimizer_from_text("momentum:nesterov=true").value(), Optimizer(Momentum{.nesterov = true}));
  EXPECT_EQ(optimizer_from_text("momentum:nesterov=0").value(), Optimizer(Momentum{.nesterov = false}));
  EXPECT_EQ(optimizer_from_text("sgd:l1=0.5,l2=2,low=-10,high=10").value(),
            Optimizer(Sgd{}, Penalty{.l1 = 0.5F, .l2 = 2}, Bounds{-10, 10}));
  EXPECT_EQ(optimizer_from_text("sgd:high=10").value(), Optimizer(Sgd{}, Bounds{.high = 10}));
}

TEST(OptimizerText, ThePenaltyOfFtrlIsItsOwn) {
  EXPECT_EQ(optimizer_from_text("ftrl:l1=0.5,l2=2").value(), Optimizer(Ftrl{.l1 = 0.5F, .l2 = 2}));
}

TEST(OptimizerText, ARateFromElsewhereIsForATextWithoutOne) {
  EXPECT_EQ(optimizer_from_text("adam", 0.5F).value(), Optimizer(Adam{.rate = 0.5F}));
  EXPECT_EQ(optimizer_from_text("adam:rate=0.25", 0.5F).value(), Optimizer(Adam{.rate = 0.25F}));
}

TEST(OptimizerText, Schedules) {
  EXPECT_EQ(schedule_from_text("constant").value(), Schedule{});
  EXPECT_EQ(schedule_from_text("constant:warmup=10").value(), Schedule::constant().with_warmup(10));
  EXPECT_EQ(schedule_from_text("step:steps=10,factor=0.5").value(), Schedule::step(10, 0.5F));
  EXPECT_EQ(schedule_from_text("exponential:factor=0.5,steps=10").value(), Schedule::exponential(10, 0.5F));
  EXPECT_EQ(schedule_from_text("inverse_time:steps=10,factor=0.5").value(), Schedule::inverse_time(10, 0.5F));
  EXPECT_EQ(schedule_from_text("polynomial:steps=10,power=2,last=0.125").value(), Schedule::polynomial(10, 2, 0.125F));
  EXPECT_EQ(schedule_from_text("cosine:steps=10,last=0.125,warmup=4,warmup_from=0.5").value(),
            Schedule::cosine(10, 0.125F).with_warmup(4, 0.5F));
  EXPECT_EQ(schedule_from_text("piecewise:10=0.5,100=0.125,warmup=4").value(),
            Schedule::piecewise({{10, 0.5F}, {100, 0.125F}}).with_warmup(4));
}

TEST(OptimizerText, WhatIsWrongIsSaidWithTheWayOut) {
  std::vector<std::pair<std::string, std::string>> const wrong{
      {"adamm", "optimizer 'adamm': there is no such rule, did you mean adam? (known are sgd, momentum, adagrad, "},
      {"", "there is no such rule (known are sgd"},
      {"magic", "there is no such rule (known are sgd"},
      {"adam:", "'' is not NUMBER=VALUE"},
      {"adam:rate", "'rate' is not NUMBER=VALUE"},
      {"adam:=1", "'=1' is not NUMBER=VALUE"},
      {"adam:rate=0.1,", "'' is not NUMBER=VALUE"},
      {"adam:rate=fast", "rate is 'fast': it must be a number that fits a float"},
      {"adam:rate=", "rate is '': it must be a number that fits a float"},
      {"adam:rate=1e400", "rate is '1e400': it must be a number that fits a float"},
      {"adam:rate=0", "rate is 0: it must be above 0"},
      {"sgd:rate=-1", "rate is -1: it must be above 0"},
      {"adam:rate=0.1,rate=0.2", "rate is given twice"},
      {"adam:bta1=0.1",
       "it has no number 'bta1', did you mean beta1? (known are rate, beta1, beta2, epsilon, l1, l2, "
       "low, high)"},
      {"adam:lr=0.1", "it has no number 'lr', did you mean rate? (known are rate, "},
      {"adam:learning_rate=0.1", "did you mean rate? (known are rate, "},
      {"adam:l3=0.1", "it has no number 'l3' (known are rate, "},
      {"momentum:nesterov=yes", "nesterov is 'yes': it must be true or false"},
      {"adam:beta1=1", "beta1 is 1: it must be from 0 to below 1"},
      {"sgd:rate=nan", "rate is nan: it must be a finite number"},
      {"sgd:l2=-1", "penalty.l2 is -1: it must not be below 0"},
      {"sgd:low=1,high=-1", "bounds are from 1 to -1: no weight is between them"},
  };
  for (auto const& [text, what] : wrong) {
    auto const result = optimizer_from_text(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), Errc::config_invalid) << text;
    EXPECT_THAT(result.error().what(), HasSubstr(what)) << text;
    EXPECT_THAT(result.error().what(), HasSubstr("such as adagrad:rate=0.05,l2=1e-5")) << text;
  }
}

TEST(OptimizerText, WhatIsWrongWithAScheduleLikewise) {
  std::vector<std::pair<std::string, std::string>> const wrong{
      {"cosin:steps=10",
       "schedule 'cosin:steps=10': there is no such schedule, did you mean cosine? (known are "
       "constant, step, "},
      {"cosine", "it needs steps"},
      {"step:steps=10", "it needs factor"},
      {"cosine:steps=0", "schedule.steps is 0: it must be above 0"},
      {"cosine:steps=1.5", "steps is '1.5': it must be a whole number from 0 to 4294967295"},
      {"cosine:steps=10,factor=2", "it has no number 'factor' (known are steps, last, warmup, warmup_from)"},
      {"piecewise", "it needs a piece"},
      {"piecewise:warmup=10", "it needs a piece"},
      {"piecewise:ten=0.5", "'ten=0.5' is no piece: it must be a step and a factor"},
      {"piecewise:10=half", "'10=half' is no piece"},
      {"piecewise:10=0.5,10=0.1", "schedule.pieces has 10 behind 10: they must ascend"},
      {"piecewise:10=-1", "schedule.pieces has the factor -1: it must not be below 0"},
      {"piecewise:1=1,2=1,3=1,4=1,5=1,6=1,7=1,8=1,9=1", "at most 8 pieces are possible"},
  };
  for (auto const& [text, what] : wrong) {
    auto const result = schedule_from_text(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), Errc::config_invalid) << text;
    EXPECT_THAT(result.error().what(), HasSubstr(what)) << text;
    EXPECT_THAT(result.error().what(), HasSubstr("such as cosine:steps=100000")) << text;
  }
}
