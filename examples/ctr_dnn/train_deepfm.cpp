// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"
#include "train.hpp"

int ctr_dnn::train_deepfm(Settings const& settings) {
  return train(settings, nn::DeepFm{.dim = settings.dim});
}
