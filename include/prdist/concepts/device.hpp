// SPDX-License-Identifier: Apache-2.0
// Where a trainer computes. A device owns floats; the network reads and writes their host side (staging), the model
// the side it computes on (view). On a CPU the two are the same memory and the copies cost nothing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <prdist/concepts/policy.hpp>
#include <prdist/optim/optimizer.hpp>

namespace prdist {

template <class Choice>
concept has_memory = requires(Choice& choice, typename Choice::Floats& floats, std::size_t count) {
  choice.resize(floats, count);
  { choice.staging(floats) } -> std::same_as<std::span<float>>;
  { choice.view(floats) } -> std::same_as<std::span<float>>;
};

/// Between staging and view. zero() clears the view.
template <class Choice>
concept can_copy = requires(Choice& choice, typename Choice::Floats& floats) {
  choice.upload(floats);
  choice.download(floats);
  choice.zero(floats);
};

/// to[i] = from[index[i]], a row of `dim` floats each.
template <class Choice>
concept can_gather = requires(Choice& choice, typename Choice::Floats& from, typename Choice::Floats& to,
                              std::span<std::uint32_t const> index, std::size_t dim) {
  choice.gather(from, index, dim, to);
};

/// to[index[i]] += from[i], in an order that is the same every time.
template <class Choice>
concept can_scatter_add = requires(Choice& choice, typename Choice::Floats& from, typename Choice::Floats& to,
                                   std::span<std::uint32_t const> index, std::size_t dim) {
  choice.scatter_add(from, index, dim, to);
};

/// One update of every row (weights and state as optim/optimizer.hpp lays them out) by one gradient each.
template <class Choice>
concept can_update = requires(Choice& choice, Optimizer const& optimizer, typename Choice::Floats& rows,
                              typename Choice::Floats& gradients, std::size_t dim) {
  choice.update(optimizer, rows, gradients, dim);
};

template <class Choice>
concept device_policy = named<Choice> && has_memory<Choice> && can_copy<Choice> && can_gather<Choice> &&
    can_scatter_add<Choice> && can_update<Choice>;

template <device_policy Choice>
struct Device {
  using axis = prdist::axis::device;
  using choice = Choice;
};

}  // namespace prdist
