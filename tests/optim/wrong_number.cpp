#include <prdist/optim/wrong_number.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace prdist;

TEST(WrongNumber, NothingIsWrongWithWhatIsUsual) {
  for (Optimizer const& usual : std::vector<Optimizer>{
           Sgd{},
           Momentum{},
           Adagrad{},
           RowAdagrad{},
           Adam{},
           SharedAdam{},
           Ftrl{},
           RmsProp{},
           AdaDelta{},
           Lamb{},
           {Sgd{}, Penalty{1, 1}, Bounds{-1, 1}, Schedule::piecewise({{10, 0.5F}, {20, 0}}).with_warmup(5)}}) {
    EXPECT_EQ(wrong_number(usual), "") << name_of(usual);
  }
}

// A zero gradient would be divided by zero, a correction by nothing, or the words make no sense.
TEST(WrongNumber, TheFirstIsNamedWithItsLimit) {
  constexpr auto nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (auto const& [rule, text] : std::vector<std::pair<Optimizer, std::string>>{
           {Adagrad{.epsilon = 0}, "epsilon is 0: it must be above 0"},
           {Adagrad{.initial = -1}, "initial is -1: it must not be below 0"},
           {RowAdagrad{.initial = 0}, "initial is 0: it must be above 0"},
           {Adam{.epsilon = 0}, "epsilon is 0: it must be above 0"},
           {Adam{.beta1 = 1}, "beta1 is 1: it must be from 0 to below 1"},
           {SharedAdam{.beta2 = -1}, "beta2 is -1: it must be from 0 to below 1"},
           {Ftrl{.rate = 0}, "rate is 0: it must be above 0"},
           {RmsProp{.rho = 1}, "rho is 1: it must be from 0 to below 1"},
           {Lamb{.decay = -1}, "decay is -1: it must not be below 0"},
           {{Sgd{}, Penalty{.l1 = -1}}, "penalty.l1 is -1: it must not be below 0"},
           {{Sgd{}, Penalty{.l2 = nan}}, "penalty.l2 is nan: it must not be below 0"},
           {{Sgd{}, Bounds{1, -1}}, "bounds are from 1 to -1: no weight is between them"},
           {{Sgd{}, Bounds{.low = nan}}, "bounds are from nan to inf: no weight is between them"},
           {{Sgd{}, Bounds{.low = inf}}, "bounds are from inf to inf: no weight is between them"},
           {{Sgd{}, Schedule::cosine(0)}, "schedule.steps is 0: it must be above 0"},
           {{Sgd{}, Schedule::step(10, 0)}, "schedule.factor is 0: it must be above 0"},
           {{Sgd{}, Schedule::inverse_time(10, -1)}, "schedule.factor is -1: it must not be below 0"},
           {{Sgd{}, Schedule::polynomial(10, inf)}, "schedule.power is inf: it must not be below 0"},
           {{Sgd{}, Schedule::cosine(10, -1)}, "schedule.last is -1: it must not be below 0"},
           {{Sgd{}, Schedule::constant().with_warmup(5, -1)}, "schedule.warmup_from is -1: it must not be below 0"},
           {{Sgd{}, Schedule::piecewise({{10, -1}})}, "schedule.pieces has the factor -1: it must not be below 0"},
           {{Sgd{}, Schedule::piecewise({{10, 1}, {10, 0.5F}})},
            "schedule.pieces has 10 behind 10: they must ascend"}}) {
    EXPECT_EQ(wrong_number(rule), text);
  }
}
