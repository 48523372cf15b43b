// SPDX-License-Identifier: Apache-2.0
// How Fleet finds its three policies: each wrapper names its axis, and pick<> takes the one of an axis wherever it
// stands in the list, or the default.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace prdist {

/// The three questions a composition answers.
namespace axis {
struct strategy {};   // NOLINT(readability-identifier-naming): axis::strategy reads as what it is
struct transport {};  // NOLINT(readability-identifier-naming)
struct device {};     // NOLINT(readability-identifier-naming)
}  // namespace axis

/// Every choice names itself: in logs, bench titles and errors.
template <class Choice>
concept named = requires {
  { Choice::name } -> std::convertible_to<std::string_view>;
};

/// A wrapped choice, such as Strategy<Async>. A bare Async is not one.
template <class Wrapper>
concept policy = requires {
  typename Wrapper::axis;
  typename Wrapper::choice;
};

template <class Wrapper, class Axis>
concept policy_on = policy<Wrapper> && std::same_as<typename Wrapper::axis, Axis>;

namespace detail {

template <class Axis, class Default, class... Policies>
struct Pick {
  using type = Default;
};

template <class Axis, class Default, class First, class... Rest>
struct Pick<Axis, Default, First, Rest...> : Pick<Axis, Default, Rest...> {};

template <class Axis, class Default, policy_on<Axis> First, class... Rest>
struct Pick<Axis, Default, First, Rest...> {
  using type = typename First::choice;
};

}  // namespace detail

/// The choice on `Axis` among the policies, or `Default`.
template <class Axis, class Default, class... Policies>
using pick = typename detail::Pick<Axis, Default, Policies...>::type;

/// How many of the policies are on `Axis`.
template <class Axis, class... Policies>
inline constexpr std::size_t count_on = (std::size_t{policy_on<Policies, Axis>} + ... + 0);

}  // namespace prdist
