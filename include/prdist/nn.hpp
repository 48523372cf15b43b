// SPDX-License-Identifier: Apache-2.0
// The networks, the parts to build others from, and the single-process trainer. nn/xtensor.hpp is not among them:
// include it where layers are written as xtensor expressions.
#pragma once

#include <prdist/nn/ctr_dnn.hpp>
#include <prdist/nn/deep_fm.hpp>
#include <prdist/nn/local_trainer.hpp>
#include <prdist/nn/logistic_regression.hpp>
#include <prdist/nn/mlp.hpp>
