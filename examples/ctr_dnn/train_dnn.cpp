// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "train.hpp"

int ctr_dnn::train_dnn(Settings const& settings) {
  return train(settings, nn::CtrDnn{.dim = settings.dim, .hidden = settings.hidden});
}
