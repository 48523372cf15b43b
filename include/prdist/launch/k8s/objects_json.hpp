// SPDX-License-Identifier: Apache-2.0
// Reads what Kubernetes says of itself as JSON: objects whose members may be missing or of another kind.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>

namespace prdist::detail {

/// An object, or why the text is none: "it is no JSON (incomplete)".
struct ReadObject {
  boost::json::object object{};
  std::string fault{};
};

[[nodiscard]] inline ReadObject read_object(std::string_view text) {
  boost::system::error_code error;
  boost::json::parse_options options;
  options.max_depth = 64;
  auto value = boost::json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return {{}, concat("it is no JSON (", error.message(), ')')};
  if (!value.is_object()) return {{}, "it is no object"};
  return {std::move(value.get_object()), {}};
}

/// The member if it is there and of that kind, else null.
[[nodiscard]] inline boost::json::object const* object_at(boost::json::object const& parent, std::string_view name) {
  auto const* const value = parent.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

[[nodiscard]] inline std::string text_at(boost::json::object const& parent, std::string_view name) {
  auto const* const value = parent.if_contains(name);
  auto const* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

template <class Visit>
void each_object_at(boost::json::object const& parent, std::string_view name, Visit&& visit) {
  auto const* const value = parent.if_contains(name);
  auto const* const list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr) return;
  for (auto const& item : *list) {
    if (auto const* const object = item.if_object()) visit(*object);
  }
}

}  // namespace prdist::detail
