// SPDX-License-Identifier: Apache-2.0
// Rows of a sparse table of ours as rows of Paddle's layout: the way back of from_paddle.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/checkpoint/from_paddle.hpp>
#include <prdist/checkpoint/row_weights.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

/// Makes Paddle's rows from those of one table. A sum of the whole row stands for embed_w and for embedx_w alike there.
class ToPaddle {
 public:
  /// Without `rule` it is the one that goes on with the table's state; with it, and weights alone, that one's state as
  /// of a new row, by `numbers`. `day` is today by the count that the job gives to shrink().
  /// @throws Error config.contradiction when Paddle has no such rule and the weights are not asked for alone
  ToPaddle(SparseSpec spec, std::optional<PaddleRule> rule = {}, PaddleNumbers numbers = {}, std::uint32_t day = 0)
      : spec_(std::move(spec)), layout_(spec_), numbers_(numbers), day_(day) {
    auto const equal = rule_like(spec_.optimizer);
    weights_alone_ = rule.has_value() && rule != equal;
    if (!rule && !equal) {
      throw Error(Errc::config_contradiction, "table '", spec_.name, "', Paddle has no rule for sparse tables like ",
                  spec_.apply == ApplyRule::add ? "geo's, whose workers keep the state" : name_of(spec_.optimizer),
                  ": name one of its rules, which then starts anew with the weights");
    }
    rule_ = rule ? *rule : *equal;
    row_.resize(row_floats(spec_.optimizer, spec_.dim));
    if (!weights_alone_) {
      if (auto const* const adagrad = std::get_if<Adagrad>(&spec_.optimizer.rule)) {
        // Paddle divides by the root of initial_g2sum + g2sum, so it cannot be 0 there.
        numbers_.initial_g2sum = adagrad->initial > 0 ? adagrad->initial : 1e-6F;
      }
      if (auto const* const adam = std::get_if<Adam>(&spec_.optimizer.rule)) {
        numbers_.beta1 = adam->beta1, numbers_.beta2 = adam->beta2;
      }
    }
  }

  /// Paddle's rule that keeps what this one keeps; a table that adds has no state of its own.
  [[nodiscard]] static std::optional<PaddleRule> rule_like(Optimizer const& optimizer) {
    if (optimizer == Optimizer(adding)) return {};
    if (std::holds_alternative<Sgd>(optimizer.rule)) return PaddleRule::naive;
    if (std::holds_alternative<RowAdagrad>(optimizer.rule)) return PaddleRule::adagrad;
    if (std::holds_alternative<Adagrad>(optimizer.rule)) return PaddleRule::std_adagrad;
    if (std::holds_alternative<Adam>(optimizer.rule)) return PaddleRule::adam;
    if (std::holds_alternative<SharedAdam>(optimizer.rule)) return PaddleRule::shared_adam;
    return {};
  }

  [[nodiscard]] std::size_t row_bytes() const noexcept { return layout_.bytes(); }
  [[nodiscard]] PaddleRule rule() const noexcept { return rule_; }

  /// The row at `from`, of row_bytes(), as one of Paddle's; overwritten by the next call.
  [[nodiscard]] PaddleRow const& convert(Key key, std::byte const* from) {
    auto const dim = spec_.dim;
    read_weights(spec_, from, row_.data());
    std::memcpy(row_.data() + dim, from + layout_.weight_bytes, layout_.state_bytes);
    // Without statistics, one show: a row that nobody has seen might be taken for one that can go.
    RowStatistics known{.show = 1, .day = day_};
    if (layout_.statistics_bytes != 0) {
      std::memcpy(&known, from + layout_.weight_bytes + layout_.state_bytes, sizeof known);
    }
    out_.key = key;
    out_.unseen_days = static_cast<float>(day_ > known.day ? day_ - known.day : 0);
    out_.delta_score = known.delta_score;
    out_.show = known.show;
    out_.click = known.click;
    out_.embed_w = row_[0];
    out_.embedx_w.assign(row_.begin() + 1, row_.begin() + static_cast<std::ptrdiff_t>(dim));
    give(out_.embed_state, 0, 1);
    give(out_.embedx_state, 1, dim - 1);
    return out_;
  }

  /// What the caller's user should know, a line each.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> lines;
    auto const say = [&](auto const&... what) { lines.push_back(concat("table '", spec_.name, "': ", what...)); };
    if (weights_alone_) say("weights alone, Paddle's ", name_of(rule_), " starts anew");
    if (!weights_alone_ && (rule_ == PaddleRule::adagrad || rule_ == PaddleRule::shared_adam)) {
      say("the sums of a row stand for embed_w and for embedx_w, which Paddle keeps apart");
    }
    if (auto const* const adagrad = std::get_if<Adagrad>(&spec_.optimizer.rule);
        !weights_alone_ && adagrad != nullptr) {
      say("give Paddle's StdAdaGradSGDRule initial_g2sum ", numbers_.initial_g2sum, " and learning_rate ",
          adagrad->rate / std::sqrt(numbers_.initial_g2sum), " to go on with the same steps");
    }
    return lines;
  }

 private:
  /// The state of elements [first, first + count).
  void give(std::vector<float>& state, std::size_t first, std::size_t count) {
    auto const dim = spec_.dim;
    state.assign(count == 0 ? 0 : state_floats(rule_, count), 0.0F);
    if (state.empty()) return;
    auto const* const own = row_.data() + dim;
    switch (rule_) {
      case PaddleRule::naive: break;
      case PaddleRule::adagrad: state[0] = weights_alone_ ? 0 : own[0]; break;
      case PaddleRule::std_adagrad:
        for (std::size_t i = 0; i < count && !weights_alone_; ++i) {
          state[i] = std::max(own[first + i] - numbers_.initial_g2sum, 0.0F);
        }
        break;
      case PaddleRule::adam:
        state[2 * count] = numbers_.beta1, state[2 * count + 1] = numbers_.beta2;
        if (weights_alone_) break;
        std::copy_n(own + first, count, state.begin());
        std::copy_n(own + dim + first, count, state.begin() + static_cast<std::ptrdiff_t>(count));
        // Paddle keeps the powers of the next step, we those of the steps taken.
        state[2 * count] *= own[2 * dim];
        state[2 * count + 1] *= own[2 * dim + 1];
        break;
      case PaddleRule::shared_adam:
        state[2] = numbers_.beta1, state[3] = numbers_.beta2;
        if (!weights_alone_) std::copy_n(own, 4, state.begin());
        break;
    }
  }

  SparseSpec spec_;
  RowLayout layout_;
  PaddleNumbers numbers_;
  std::uint32_t day_;
  PaddleRule rule_ = PaddleRule::naive;
  bool weights_alone_ = false;
  std::vector<float> row_;
  PaddleRow out_;
};

}  // namespace prdist
