// SPDX-License-Identifier: Apache-2.0
// Reads JSON that comes from outside, field by field: whatever is wrong ends in a sentence that names the field.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <prdist/core/escaped.hpp>
#include <prdist/core/text.hpp>

namespace prdist::detail {

inline constexpr std::size_t most_name = 256;

/// A name from outside, as it may stand in a message.
inline std::string shown(std::string_view name) {
  return name.size() <= most_name ? escaped(name) : concat(escaped(name.substr(0, 64)), "...");
}

/// Reads fields of one JSON object; the first thing that is wrong stops it.
class FieldReader {
 public:
  FieldReader(boost::json::value const& value, std::string where) : where_(std::move(where)) {
    object_ = value.if_object();
    if (object_ == nullptr) fail("", "is not an object");
  }

  [[nodiscard]] boost::json::value const* get(std::string_view name) {
    if (object_ == nullptr) return nullptr;
    auto const* const value = object_->if_contains(name);
    if (value == nullptr) fail(name, "is missing");
    return value;
  }

  /// Whether there is such a field at all: some are left out when they have nothing to say.
  [[nodiscard]] bool has(std::string_view name) const { return object_ != nullptr && object_->contains(name); }

  void read(std::string_view name, std::string& out) {
    if (auto const* const value = get(name)) {
      if (auto const* const text = value->if_string()) {
        out.assign(text->data(), text->size());
      } else {
        fail(name, "is not a text");
      }
    }
  }

  void read(std::string_view name, bool& out) {
    if (auto const* const value = get(name)) {
      if (auto const* const flag = value->if_bool()) {
        out = *flag;
      } else {
        fail(name, "is not true or false");
      }
    }
  }

  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>) void read(std::string_view name,
                                                                                    Number& out) {
    auto const* const value = get(name);
    if (value == nullptr) return;
    boost::system::error_code error;
    if constexpr (std::is_floating_point_v<Number>) {
      out = static_cast<Number>(value->to_number<double>(error));
    } else {
      out = value->to_number<Number>(error);
    }
    if (error) fail(name, "is not a number in range");
  }

  void fail(std::string_view name, std::string_view what) {
    if (error_.empty()) error_ = concat(where_, name.empty() ? "" : ".", name, ' ', what);
  }

  /// Reads the object in a field; what is wrong inside is wrong here.
  template <class Read>
  void read_object(std::string_view name, Read&& read_inside) {
    if (auto const* const value = get(name)) read_element(*value, name, read_inside);
  }
  template <class Read>
  void read_element(boost::json::value const& value, std::string_view name, Read&& read_inside) {
    FieldReader inside(value, concat(where_, '.', name));
    read_inside(inside);
    if (error_.empty()) error_ = inside.error();
  }

  /// Later errors speak of `where`.
  void rename(std::string where) { where_ = std::move(where); }

  [[nodiscard]] std::string const& error() const { return error_; }

 private:
  boost::json::object const* object_ = nullptr;
  std::string where_;
  std::string error_;
};

}  // namespace prdist::detail
