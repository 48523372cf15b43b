// SPDX-License-Identifier: Apache-2.0
// Rows of a sparse table with all their state, from Paddle's layout to ours and back. Paddle applies its rule to
// embed_w and to embedx_w apart, each with its own state; a row of ours is one. What follows from that is said with
// each rule.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/checkpoint/paddle_sparse.hpp>
#include <prdist/checkpoint/row_weights.hpp>
#include <prdist/core/error.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/row_layout.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// What a job's configuration says of its rule, and files of tables do not. The defaults are Paddle's.
struct PaddleNumbers {
  float rate = 0.001F;                                  ///< learning_rate
  float initial_g2sum = 3;                              ///< of the AdaGrad rules
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;  ///< of the Adam rules
};

/// The rule of ours whose state can be made from the rule's:
///   naive        Sgd, the same
///   adam         Adam; Paddle adds epsilon to the root as it is, we scale it as the moment's correction is
///   shared_adam  SharedAdam over the whole row
///   adagrad      RowAdagrad over the whole row
///   std_adagrad  Adagrad, whose sum has initial_g2sum in it and in each step that step's gradient too
/// Paddle's AdaGrad rules also divide a gradient by its shows.
[[nodiscard]] inline Optimizer equal_of(PaddleRule rule, PaddleNumbers const& numbers = {}) {
  switch (rule) {
    case PaddleRule::naive: return Sgd{numbers.rate};
    case PaddleRule::adagrad: return RowAdagrad{numbers.rate, numbers.initial_g2sum};
    case PaddleRule::std_adagrad:
      return Adagrad{numbers.rate * std::sqrt(numbers.initial_g2sum), numbers.initial_g2sum, numbers.epsilon};
    case PaddleRule::adam: return Adam{numbers.rate, numbers.beta1, numbers.beta2, numbers.epsilon};
    case PaddleRule::shared_adam: return SharedAdam{numbers.rate, numbers.beta1, numbers.beta2, numbers.epsilon};
  }
  return Sgd{numbers.rate};
}

[[nodiscard]] constexpr std::string_view name_of(PaddleRule rule) noexcept {
  switch (rule) {
    case PaddleRule::naive: return "naive";
    case PaddleRule::adagrad: return "adagrad";
    case PaddleRule::std_adagrad: return "std_adagrad";
    case PaddleRule::adam: return "adam";
    case PaddleRule::shared_adam: return "shared_adam";
  }
  return "naive";
}

namespace detail {

/// Beta to the power of whole steps, by the multiplications that a row goes through in training: the same bits.
class BetaPowers {
 public:
  explicit BetaPowers(float beta) : powers_{1}, beta_(beta) {}

  [[nodiscard]] float operator()(std::uint64_t steps) {
    auto const wanted = static_cast<std::size_t>(std::min(steps, most));
    while (powers_.size() <= wanted) powers_.push_back(powers_.back() * beta_);
    return powers_[wanted];
  }

  /// A row that is older has no correction left in floats, with the usual betas.
  static constexpr std::uint64_t most = 200000;

 private:
  std::vector<float> powers_;
  float beta_;
};

/// How many steps a row has taken, from what Paddle keeps: the powers of its next step, in six digits.
/// @throws Error data.line when they are no powers of these betas
[[nodiscard]] inline std::uint64_t steps_of(Key key, float power1, float power2, float beta1, float beta2) {
  // In exponents; nothing where the power is too small to tell, or its digits are too few.
  auto const exponent = [](float power, float beta) {
    auto const known = power > 1e-30F && beta > 0;
    if (!known || 5e-6 / -std::log(double{beta}) > 0.2) return -1.0;
    return std::log(double{power}) / std::log(double{beta});
  };
  auto const first = exponent(power1, beta1), second = exponent(power2, beta2);
  auto const best = second >= 0 ? second : first;
  // The digits are lost: so many steps have passed that the correction is, too.
  if (best < 0) return beta1 == 0 && beta2 == 0 ? 1 : BetaPowers::most;
  auto const whole = std::round(best);
  auto const fits = [&](double one) { return one < 0 || std::abs(one - whole) < 0.25 + whole / 1000; };
  if (whole < 1 || !fits(first) || !fits(second)) {
    throw Error(Errc::data_line, "key ", key, ", its powers of the betas ", power1, " and ", power2,
                " are not of one step with beta1 ", beta1, " and beta2 ", beta2,
                ": give the betas of the job that saved it, or take the weights alone");
  }
  return static_cast<std::uint64_t>(whole) - 1;
}

}  // namespace detail

/// Makes rows of one table from Paddle's. A row of Adam has one age here and two there, of which embed_w's is one more
/// as a rule: the row gets that of embedx_w, and the moments of embed_w are scaled so that, corrected for the new age,
/// they are what they were. Rule-wide sums become those of the whole row, as our rule would have taken them.
class FromPaddle {
 public:
  /// `spec` is the table as the job declares it; `day` is today by the count that it gives to shrink().
  /// @throws Error config.contradiction when state is wanted and the rules differ
  FromPaddle(SparseSpec spec, PaddleRule rule, bool weights_alone = false, std::uint32_t day = 0)
      : spec_(std::move(spec)),
        layout_(spec_),
        rule_(rule),
        weights_alone_(weights_alone),
        day_(day),
        row_(row_floats(spec_.optimizer, spec_.dim)) {
    auto const equal = name_of(equal_of(rule));
    if (!weights_alone && name_of(spec_.optimizer) != equal) {
      throw Error(Errc::config_contradiction, "table '", spec_.name, "', state of Paddle's ", name_of(rule),
                  " can go on as ", equal, " and the table is declared with ", name_of(spec_.optimizer),
                  ": declare it so, or take the weights alone");
    }
    std::visit(
        [this]<class Rule>(Rule const& it) {
          if constexpr (std::is_same_v<Rule, Adam> || std::is_same_v<Rule, SharedAdam>) {
            beta1_ = it.beta1, beta2_ = it.beta2;
            power1_ = detail::BetaPowers(beta1_), power2_ = detail::BetaPowers(beta2_);
          }
        },
        spec_.optimizer.rule);
  }

  [[nodiscard]] std::size_t row_bytes() const noexcept { return layout_.bytes(); }
  /// The layout to read the table with.
  [[nodiscard]] PaddleLayout paddle_layout() const { return {spec_.dim - 1, rule_, rule_}; }

  /// Writes row_bytes() to `out`. @throws Error data.line as said above
  void convert(PaddleRow const& from, std::byte* out) {
    ++rows_;
    if (from.embedx_w.empty() && spec_.dim > 1) ++without_embedx_;
    std::fill(row_.begin(), row_.end(), 0.0F);
    row_[0] = from.embed_w;
    std::copy(from.embedx_w.begin(), from.embedx_w.end(), row_.begin() + 1);
    write_first_state(spec_.optimizer, row_.data(), spec_.dim);
    if (!weights_alone_) {
      std::visit([&](auto const& rule) { take_state(rule, from); }, spec_.optimizer.rule);
    }
    write_weights(spec_, from.key, row_.data(), out);
    std::memcpy(out + layout_.weight_bytes, row_.data() + spec_.dim, layout_.state_bytes);
    if (layout_.statistics_bytes == 0) return;
    auto const unseen = static_cast<std::uint32_t>(std::clamp(from.unseen_days, 0.0F, 1e6F));
    if (unseen > day_) ++before_day_, longest_unseen_ = std::max(longest_unseen_, unseen);
    RowStatistics const known{from.show, from.click, from.delta_score, unseen > day_ ? 0 : day_ - unseen};
    std::memcpy(out + layout_.weight_bytes + layout_.state_bytes, &known, sizeof known);
  }

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  /// Steps of the oldest row, by embed_w, which takes them all; 0 when its rule does not count.
  [[nodiscard]] std::uint64_t oldest() const noexcept { return oldest_; }

  /// What the caller's user should know, a line each.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> lines;
    auto const say = [&](auto const&... what) { lines.push_back(concat("table '", spec_.name, "': ", what...)); };
    if (weights_alone_)
      say("weights alone, the state of ", name_of(spec_.learned_by.value_or(spec_.optimizer)), " starts anew");
    if (rescaled_ != 0) {
      say("in ", rescaled_, " rows embed_w had taken other steps than embedx_w; they have the age of embedx_w now");
    }
    if (merged_) say("one sum per row, where Paddle keeps one for embed_w and one for embedx_w");
    if (without_embedx_ != 0) say(without_embedx_, " rows had no embedx_w yet: it is 0, and their state starts anew");
    if (before_day_ != 0) {
      say(before_day_, " rows were unseen for up to ", longest_unseen_, " days and count from day 0: give --day ",
          longest_unseen_, " or more to keep that");
    }
    return lines;
  }

 private:
  template <class Rule>
  void take_state(Rule const&, PaddleRow const&) {}

  void take_state(Adam const&, PaddleRow const& from) {
    auto const dim = spec_.dim;
    auto const age = take_age(from, 2, 2 * (dim - 1));
    row_[dim] = from.embed_state[0] * first_scale_;
    row_[2 * dim] = from.embed_state[1] * second_scale_;
    if (!from.embedx_state.empty()) {
      std::copy_n(from.embedx_state.begin(), dim - 1, row_.begin() + static_cast<std::ptrdiff_t>(dim + 1));
      std::copy_n(from.embedx_state.begin() + static_cast<std::ptrdiff_t>(dim - 1), dim - 1,
                  row_.begin() + static_cast<std::ptrdiff_t>(2 * dim + 1));
    }
    row_[3 * dim] = power1_(age);
    row_[3 * dim + 1] = power2_(age);
    set_updates(age);
  }

  void take_state(SharedAdam const&, PaddleRow const& from) {
    auto const dim = spec_.dim;
    auto const age = take_age(from, 2, 2);
    auto const x = from.embedx_state.empty() ? std::vector<float>(4) : from.embedx_state;
    row_[dim] = mean(from.embed_state[0] * first_scale_, x[0]);
    row_[dim + 1] = mean(from.embed_state[1] * second_scale_, x[1]);
    row_[dim + 2] = power1_(age + 1);
    row_[dim + 3] = power2_(age + 1);
    merged_ = dim > 1;
    set_updates(age);
  }

  void take_state(RowAdagrad const&, PaddleRow const& from) {
    row_[spec_.dim] = mean(from.embed_state[0], from.embedx_state.empty() ? 0 : from.embedx_state[0]);
    merged_ = spec_.dim > 1;
  }

  void take_state(Adagrad const& rule, PaddleRow const& from) {
    auto* const sums = row_.data() + spec_.dim;
    sums[0] = rule.initial + from.embed_state[0];
    for (std::size_t i = 0; i < from.embedx_state.size(); ++i) sums[i + 1] = rule.initial + from.embedx_state[i];
  }

  /// The row's age, and by how much embed_w's moments change for it. The powers stand at these places of the states.
  std::uint64_t take_age(PaddleRow const& from, std::size_t at, std::size_t at_x) {
    auto const steps = [&](std::vector<float> const& state, std::size_t place) {
      return detail::steps_of(from.key, state[place], state[place + 1], beta1_, beta2_);
    };
    auto const embed = steps(from.embed_state, at);
    oldest_ = std::max(oldest_, embed);
    auto const age = spec_.dim == 1 ? embed : from.embedx_state.empty() ? 0 : steps(from.embedx_state, at_x);
    first_scale_ = second_scale_ = 1;
    if (age == embed) return age;
    auto const corrected = [](float beta, std::uint64_t t) {
      return 1 - std::pow(double{beta}, static_cast<double>(t));
    };
    if (!from.embedx_state.empty()) ++rescaled_;
    first_scale_ = embed == 0 ? 0 : static_cast<float>(corrected(beta1_, age) / corrected(beta1_, embed));
    second_scale_ = embed == 0 ? 0 : static_cast<float>(corrected(beta2_, age) / corrected(beta2_, embed));
    return age;
  }

  /// Of what stands for one element and what stands for all others.
  [[nodiscard]] float mean(float one, float others) const {
    auto const dim = static_cast<double>(spec_.dim);
    return static_cast<float>((double{one} + (dim - 1) * double{others}) / dim);
  }

  void set_updates(std::uint64_t age) {
    if (!spec_.optimizer.schedule.is_constant())
      row_.back() = static_cast<float>(std::min<std::uint64_t>(age, 1 << 24));
  }

  SparseSpec spec_;
  RowLayout layout_;
  PaddleRule rule_;
  bool weights_alone_;
  std::uint32_t day_;
  std::vector<float> row_;
  float beta1_ = 0, beta2_ = 0;
  detail::BetaPowers power1_{0}, power2_{0};
  float first_scale_ = 1, second_scale_ = 1;
  bool merged_ = false;
  std::uint64_t rows_ = 0, oldest_ = 0, rescaled_ = 0, without_embedx_ = 0, before_day_ = 0;
  std::uint32_t longest_unseen_ = 0;
};

}  // namespace prdist
