// SPDX-License-Identifier: Apache-2.0
#include "words.hpp"

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/optim/optimizer_text.hpp>

namespace prckpt {

using namespace prdist;

std::pair<std::string, std::string> at_sign(std::string const& text, char sign) {
  auto const found = text.find(sign);
  return {text.substr(0, found), found == text.npos ? std::string() : text.substr(found + 1)};
}

PaddleVariable variable_of(std::string const& text) {
  auto const wrong = [&] {
    return Error(Errc::config_invalid, "--variable '", text,
                 "': give NAME=PART:ROWSxCOLUMNS, and :transposed or :classes behind it where needed; PART - leaves "
                 "it out");
  };
  PaddleVariable variable;
  auto const [name, rest] = at_sign(text, '=');
  auto const [part, shape_and_form] = at_sign(rest, ':');
  auto const [shape, form] = at_sign(shape_and_form, ':');
  auto const [rows, columns] = at_sign(shape, 'x');
  variable.name = name;
  if (part != "-") variable.part = part;
  if (name.empty() || part.empty() || !parse_number(rows, variable.rows)) throw wrong();
  if (!columns.empty() && !parse_number(columns, variable.columns)) throw wrong();
  if (form == "transposed")
    variable.form = PaddleVariable::Form::transposed;
  else if (form == "classes")
    variable.form = PaddleVariable::Form::two_classes;
  else if (!form.empty())
    throw wrong();
  return variable;
}

Optimizer optimizer_named(std::string const& flag, std::string const& name) {
  auto const optimizer = optimizer_from_text(name);
  if (!optimizer) throw Error(Errc::config_invalid, flag, ": ", optimizer.error().message());
  return *optimizer;
}

Precision precision_of(std::string const& name) {
  return name == "bf16" ? Precision::bf16 : name == "fp16" ? Precision::fp16 : Precision::fp32;
}

}  // namespace prckpt
