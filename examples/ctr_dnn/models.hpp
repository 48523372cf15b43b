// SPDX-License-Identifier: Apache-2.0
// The models. Each is trained by a translation unit of its own: with every strategy and transport it is much to
// compile.
#pragma once

#include "settings.hpp"

namespace ctr_dnn {

// All return the exit code. @throws Error
int train_dnn(Settings const& settings);
int train_deepfm(Settings const& settings);
int train_lr(Settings const& settings);

}  // namespace ctr_dnn
