// SPDX-License-Identifier: Apache-2.0
// Dense variables of a Paddle program and the parts of a dense table they are here. Paddle flattens them, row by row
// and in the order of their names, into one table; which is which only the program knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

struct PaddleVariable {
  enum class Form : std::uint8_t {
    same,
    transposed,   ///< the part is columns x rows
    two_classes,  ///< softmax over two columns; the part has one, of the logit: their difference
  };

  std::string name{};  ///< Paddle's, such as fc0.w_0
  std::string part{};  ///< ours, such as fc0.w; empty: there is none here
  std::size_t rows = 0;
  std::size_t columns = 1;
  Form form = Form::same;

  [[nodiscard]] std::size_t size() const noexcept { return rows * columns; }
  [[nodiscard]] std::size_t part_size() const noexcept { return form == Form::two_classes ? rows : size(); }
  /// As DensePart has it: of a vector, and of a row of one, empty.
  [[nodiscard]] std::vector<std::size_t> part_shape() const {
    if (form == Form::transposed && rows > 1) return {columns, rows};
    if (form == Form::two_classes && rows > 1) return {rows, 1};
    if (form == Form::same && columns > 1) return {rows, columns};
    return {};
  }

  friend bool operator==(PaddleVariable const&, PaddleVariable const&) = default;
};

/// What a number of an element is. Two classes get opposite gradients, so their moments are as well.
enum class DenseColumn : std::uint8_t { weight, first_moment, second_moment };

/// The part's numbers from the variable's.
[[nodiscard]] inline std::vector<float> to_part(PaddleVariable const& variable, std::span<float const> values,
                                                DenseColumn column) {
  std::vector<float> part(variable.part_size());
  switch (variable.form) {
    case PaddleVariable::Form::same: std::ranges::copy(values, part.begin()); break;
    case PaddleVariable::Form::transposed:
      for (std::size_t r = 0; r < variable.rows; ++r) {
        for (std::size_t c = 0; c < variable.columns; ++c) {
          part[c * variable.rows + r] = values[r * variable.columns + c];
        }
      }
      break;
    case PaddleVariable::Form::two_classes:
      for (std::size_t r = 0; r < variable.rows; ++r) {
        auto const none = values[2 * r], click = values[2 * r + 1];
        part[r] = column == DenseColumn::weight         ? click - none
                  : column == DenseColumn::first_moment ? (click - none) / 2
                                                        : (click + none) / 2;
      }
      break;
  }
  return part;
}

/// The way back: to_part() of it gives `part` again, to the bit.
[[nodiscard]] inline std::vector<float> from_part(PaddleVariable const& variable, std::span<float const> part,
                                                  DenseColumn column) {
  if (variable.form == PaddleVariable::Form::same) return {part.begin(), part.end()};
  if (variable.form == PaddleVariable::Form::transposed) {
    return to_part({.rows = variable.columns, .columns = variable.rows, .form = variable.form}, part, column);
  }
  std::vector<float> values(variable.size());
  for (std::size_t r = 0; r < variable.rows; ++r) {
    auto const click = column == DenseColumn::weight ? part[r] / 2 : part[r];
    values[2 * r] = column == DenseColumn::second_moment ? click : -click;
    values[2 * r + 1] = click;
  }
  return values;
}

/// The network of nn::CtrDnn and of Paddle's ctr_dnn: `sizes` are the inputs and then the outputs of every hidden
/// layer, `layers` Paddle's names of the layers, the last one of two classes. Layer i is part fc<i>.w and fc<i>.b here,
/// and LAYER.w_0 and LAYER.b_0 there. @throws Error config.invalid when the counts do not fit
[[nodiscard]] inline std::vector<PaddleVariable> fully_connected_variables(std::span<std::size_t const> sizes,
                                                                           std::span<std::string const> layers) {
  if (sizes.empty() || layers.size() != sizes.size()) {
    throw Error(Errc::config_invalid, layers.size(), " layers are named and the network has ", sizes.size(),
                ": name every layer in its order, the one of two classes last");
  }
  std::vector<PaddleVariable> variables;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto const last = i + 1 == sizes.size();
    auto const out = last ? std::size_t{2} : sizes[i + 1];
    auto const form = last ? PaddleVariable::Form::two_classes : PaddleVariable::Form::same;
    variables.push_back({layers[i] + ".w_0", concat("fc", i, ".w"), sizes[i], out, form});
    variables.push_back({layers[i] + ".b_0", concat("fc", i, ".b"), last ? 1 : out, last ? out : 1, form});
  }
  return variables;
}

/// fc0, fc1 ... fc_out, the names when a program gives such ones.
[[nodiscard]] inline std::vector<std::string> usual_layer_names(std::size_t layers) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < layers; ++i) names.push_back(concat("fc", i));
  names.push_back("fc_out");
  return names;
}

/// Paddle's order. @throws Error config.invalid when a name stands twice or a variable is empty
[[nodiscard]] inline std::vector<PaddleVariable> in_paddles_order(std::vector<PaddleVariable> variables) {
  std::ranges::sort(variables, {}, &PaddleVariable::name);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    auto const& it = variables[i];
    if (i > 0 && it.name == variables[i - 1].name) {
      throw Error(Errc::config_invalid, "variable '", it.name, "' is named twice: name each once");
    }
    if (it.size() == 0 || (it.form == PaddleVariable::Form::two_classes && it.columns != 2)) {
      throw Error(Errc::config_invalid, "variable '", it.name, "' is ", it.rows, " x ", it.columns,
                  it.size() == 0 ? ": give both above 0" : ": two classes have 2 columns");
    }
  }
  return variables;
}

/// The parts that the variables make, in the order in which they are given.
[[nodiscard]] inline std::vector<DensePart> parts_of(std::span<PaddleVariable const> variables) {
  std::vector<DensePart> parts;
  for (auto const& it : variables) {
    if (!it.part.empty()) parts.push_back({it.part, it.part_size(), {}, it.part_shape()});
  }
  return parts;
}

/// Where each part begins in the table, by name. @throws Error config.contradiction unless each has one variable of its
/// size
[[nodiscard]] inline std::map<std::string, std::size_t> places_of_parts(DenseSpec const& spec,
                                                                        std::span<PaddleVariable const> variables) {
  std::map<std::string, std::size_t> places;
  std::size_t at = 0;
  for (auto const& part : spec.parts) {
    auto const matches = [&](PaddleVariable const& it) { return it.part == part.name; };
    auto const found = std::ranges::find_if(variables, matches);
    auto const count = std::ranges::count_if(variables, matches);
    if (count != 1 || found->part_size() != part.size) {
      throw Error(Errc::config_contradiction, "part '", part.name, "' of table '", spec.name, "', of ", part.size,
                  " numbers, ",
                  count == 0  ? std::string("is no variable of Paddle's")
                  : count > 1 ? concat("is ", count, " variables of Paddle's")
                              : concat("is '", found->name, "' of ", found->part_size()),
                  ": give every part one variable of its size");
    }
    places[part.name] = at;
    at += part.size;
  }
  for (auto const& it : variables) {
    if (!it.part.empty() && !places.contains(it.part)) {
      throw Error(Errc::config_contradiction, "variable '", it.name, "', table '", spec.name, "' has no part '",
                  it.part, "': name one of its parts");
    }
  }
  return places;
}

}  // namespace prdist
