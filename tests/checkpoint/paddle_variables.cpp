#include <prdist/checkpoint/paddle_variables.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../data/error_text.hpp"

namespace prdist {
namespace {

using Form = PaddleVariable::Form;
using Values = std::vector<float>;

TEST(PaddleVariables, BecomePartsAndBackAgain) {
  PaddleVariable const same{.name = "w", .part = "p", .rows = 2, .columns = 3};
  Values const values{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(to_part(same, values, DenseColumn::weight), values);
  auto turned = same;
  turned.form = Form::transposed;
  EXPECT_EQ(to_part(turned, values, DenseColumn::weight), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(from_part(turned, Values{1, 4, 2, 5, 3, 6}, DenseColumn::weight), values);
}

TEST(PaddleVariables, TwoClassesAreOneLogit) {
  PaddleVariable const classes{.name = "w", .part = "p", .rows = 2, .columns = 2, .form = Form::two_classes};
  EXPECT_EQ(classes.part_size(), 2U);
  EXPECT_EQ(to_part(classes, Values{1, 4, 5, 2}, DenseColumn::weight), (Values{3, -3}));
  // Their gradients are opposite, so a moment of the logit is that of the second class.
  EXPECT_EQ(to_part(classes, Values{-1, 1, 2, -2}, DenseColumn::first_moment), (Values{1, -2}));
  EXPECT_EQ(to_part(classes, Values{3, 3, 4, 4}, DenseColumn::second_moment), (Values{3, 4}));
  Values const part{0.1F, -0.3F};
  for (auto const column : {DenseColumn::weight, DenseColumn::first_moment, DenseColumn::second_moment}) {
    EXPECT_EQ(to_part(classes, from_part(classes, part, column), column), part);
  }
  EXPECT_EQ(from_part(classes, Values{1, 2}, DenseColumn::weight), (Values{-0.5F, 0.5F, -1, 1}));
}

TEST(PaddleVariables, OfANetworkStandInTheOrderOfTheirNames) {
  std::vector<std::size_t> const sizes{10, 4, 3};
  auto const variables = in_paddles_order(fully_connected_variables(sizes, usual_layer_names(3)));
  std::vector<std::string> names;
  for (auto const& it : variables) names.push_back(concat(it.name, '=', it.part, ':', it.rows, 'x', it.columns));
  EXPECT_EQ(names, (std::vector<std::string>{"fc0.b_0=fc0.b:4x1", "fc0.w_0=fc0.w:10x4", "fc1.b_0=fc1.b:3x1",
                                             "fc1.w_0=fc1.w:4x3", "fc_out.b_0=fc2.b:1x2", "fc_out.w_0=fc2.w:3x2"}));
  EXPECT_EQ(variables[4].form, Form::two_classes);
  EXPECT_EQ(variables[4].part_size(), 1U);
  // Names, not layers: the eleventh stands before the third.
  auto const deep = in_paddles_order(fully_connected_variables(std::vector<std::size_t>(12, 2), usual_layer_names(12)));
  EXPECT_EQ(deep[4].name, "fc10.b_0");
  EXPECT_EQ(deep[4].part, "fc10.b");
}

TEST(PaddleVariables, PartsHaveAPlaceByTheirNames) {
  std::vector<std::size_t> const sizes{3, 2};
  auto const variables = fully_connected_variables(sizes, usual_layer_names(2));
  DenseSpec const spec{.name = "dense", .parts = parts_of(variables)};
  EXPECT_EQ(spec.size(), 6U + 2 + 2 + 1);
  // As nn::MlpShape has them.
  std::vector<std::string> shapes;
  for (auto const& part : spec.parts) shapes.push_back(shape_text(part.extents()));
  EXPECT_EQ(shapes, (std::vector<std::string>{"3x2", "2", "2x1", "1"}));
  EXPECT_EQ((PaddleVariable{.rows = 3, .columns = 2, .form = Form::transposed}.part_shape()),
            (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(places_of_parts(spec, in_paddles_order(variables)),
            (std::map<std::string, std::size_t>{{"fc0.w", 0}, {"fc0.b", 6}, {"fc1.w", 8}, {"fc1.b", 10}}));
}

TEST(PaddleVariables, WhatDoesNotFitIsNamed) {
  std::vector<std::size_t> const sizes{3, 2};
  EXPECT_EQ(
      error_of([&] { (void)fully_connected_variables(sizes, std::vector<std::string>{"a"}); }),
      "prdist[config.invalid] 1 layers are named and the network has 2: name every layer in its order, the one of "
      "two classes last");
  EXPECT_EQ(error_of([&] {
              (void)in_paddles_order({{"w", "p", 1, 1}, {"w", "q", 1, 1}});
            }),
            "prdist[config.invalid] variable 'w' is named twice: name each once");
  EXPECT_EQ(error_of([&] {
              (void)in_paddles_order({{"w", "p", 2, 3, Form::two_classes}});
            }),
            "prdist[config.invalid] variable 'w' is 2 x 3: two classes have 2 columns");
  DenseSpec const spec{.name = "dense", .parts = {{"p", 6, {}}}};
  auto const said = [&](std::vector<PaddleVariable> const& variables) {
    return error_of([&] { (void)places_of_parts(spec, variables); });
  };
  EXPECT_EQ(said({}),
            "prdist[config.contradiction] part 'p' of table 'dense', of 6 numbers, is no variable of Paddle's: give "
            "every part one variable of its size");
  EXPECT_EQ(said({{"w", "p", 2, 2}}),
            "prdist[config.contradiction] part 'p' of table 'dense', of 6 numbers, is 'w' of 4: give every part one "
            "variable of its size");
  EXPECT_EQ(said({{"w", "p", 2, 3}, {"v", "q", 1, 1}}),
            "prdist[config.contradiction] variable 'v', table 'dense' has no part 'q': name one of its parts");
  EXPECT_EQ(said({{"w", "p", 2, 3}, {"v", "", 1, 1}}), "no error");
}

}  // namespace
}  // namespace prdist
