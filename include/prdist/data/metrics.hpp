// SPDX-License-Identifier: Apache-2.0
// How good predicted probabilities are: exact AUC over data in memory, a bucketed AUC whose counts can be summed
// over workers, and log loss. A score that is not a number makes the metric not a number; it is never left out.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <prdist/core/error.hpp>

namespace prdist {

namespace detail {

[[nodiscard]] inline bool any_nan(std::span<float const> values) {
  return std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

/// The chance that a random positive example scores above a random negative one, ties counting half. 0.5 when
/// there are no positives or no negatives, as in Paddle. Labels above 0.5 are positive.
[[nodiscard]] inline double auc(std::span<float const> labels, std::span<float const> scores) {
  assert(labels.size() == scores.size());
  if (detail::any_nan(scores)) return detail::not_a_number;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double negatives_below = 0, positives = 0, pairs_won = 0;
  for (std::size_t i = 0; i < order.size();) {
    double tied_positives = 0, tied_negatives = 0;
    auto const score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i)
      (labels[order[i]] > 0.5F ? tied_positives : tied_negatives)++;
    pairs_won += tied_positives * (negatives_below + tied_negatives / 2);
    positives += tied_positives;
    negatives_below += tied_negatives;
  }
  auto const pairs = positives * negatives_below;
  return pairs == 0 ? 0.5 : pairs_won / pairs;
}

/// The mean of -log of the probability given to what happened. Probabilities are kept a float's width away from 0
/// and 1, so that one wrong certainty costs about 16 and not infinity.
[[nodiscard]] inline double log_loss(std::span<float const> labels, std::span<float const> probabilities) {
  assert(labels.size() == probabilities.size());
  if (labels.empty()) return 0;
  if (detail::any_nan(probabilities)) return detail::not_a_number;
  constexpr double edge = std::numeric_limits<float>::epsilon();
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto const p = std::clamp(static_cast<double>(probabilities[i]), edge, 1 - edge);
    sum -= labels[i] > 0.5F ? std::log(p) : std::log1p(-p);
  }
  return sum / static_cast<double>(labels.size());
}

/// AUC from counts of positives and negatives by score, for data that is spread over workers: sum counts() of all
/// of them element by element, load the sums, ask value(). Scores are probabilities; those in one bucket count as
/// tied, so the error is at most half the share of pairs that fall into one bucket.
class BucketAuc {
 public:
  static constexpr std::size_t default_buckets = 4096;

  explicit BucketAuc(std::size_t buckets = default_buckets)
      : buckets_(std::max<std::size_t>(buckets, 1)), counts_(2 * buckets_ + 1) {}

  void add(std::span<float const> labels, std::span<float const> scores) {
    assert(labels.size() == scores.size());
    for (std::size_t i = 0; i < labels.size(); ++i) add(labels[i], scores[i]);
  }

  void add(float label, float score) {
    if (std::isnan(score)) {
      ++counts_.back();
      return;
    }
    auto const clamped = std::clamp(static_cast<double>(score), 0.0, 1.0);
    auto const bucket = std::min(static_cast<std::size_t>(clamped * static_cast<double>(buckets_)), buckets_ - 1);
    ++counts_[(label > 0.5F ? 0 : buckets_) + bucket];
  }

  /// Positives by bucket, negatives by bucket, and the number of scores that were not a number. Doubles, because
  /// that is what sums over workers are made of; they are exact up to 2^53 examples.
  [[nodiscard]] std::span<double const> counts() const noexcept { return counts_; }

  /// Replaces the counts, by those summed over all workers.
  /// @throws Error config.contradiction when they come from another number of buckets
  void load(std::span<double const> counts) {
    check(counts.size());
    counts_.assign(counts.begin(), counts.end());
  }

  /// Adds what another one has counted. @throws Error as load()
  void merge(BucketAuc const& other) {
    check(other.counts_.size());
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

  [[nodiscard]] double value() const noexcept {
    if (counts_.back() != 0) return detail::not_a_number;
    double negatives_below = 0, positives = 0, pairs_won = 0;
    for (std::size_t i = 0; i < buckets_; ++i) {
      auto const here = counts_[i], against = counts_[buckets_ + i];
      pairs_won += here * (negatives_below + against / 2);
      positives += here;
      negatives_below += against;
    }
    auto const pairs = positives * negatives_below;
    return pairs == 0 ? 0.5 : pairs_won / pairs;
  }

  void clear() { std::fill(counts_.begin(), counts_.end(), 0.0); }

 private:
  void check(std::size_t size) const {
    if (size == counts_.size()) return;
    throw Error(Errc::config_contradiction, "AUC counts hold ", size, " numbers where ", buckets_, " buckets need ",
                counts_.size(), ": use the same number of buckets on every worker");
  }

  std::size_t buckets_;
  std::vector<double> counts_;
};

}  // namespace prdist
