// SPDX-License-Identifier: Apache-2.0
// What comes out of a training: the AUC on rows that it has not seen, for people and as JSON.
#pragma once

#include <prdist/data.hpp>
#include <prdist/fleet.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings.hpp"

namespace ctr_dnn {

/// AUC on the test rows by any predictor.
template <class Predict>
double evaluate(Settings const& settings, Predict&& predict) {
  auto options = reader_options(settings);
  options.shuffle.reset();
  SlotReader reader(expand_files(settings.test).value(), options);
  std::vector<float> labels, scores;
  for (auto const& batch : reader) {
    if (StopSignal::requested()) {
      throw Error(Errc::job_stopped, "asked to stop while it evaluated",
                  settings.checkpoints.directory.empty() ? "" : ": --resume evaluates what the last checkpoint holds");
    }
    std::vector<float> out(batch.size());
    predict(batch, std::span<float>(out));
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    scores.insert(scores.end(), out.begin(), out.end());
  }
  return auc(labels, scores);
}

/// Logs the AUC, and writes it with the rest to --result. @throws Error data.file
void write_result(Settings const& settings, std::string_view how, std::string const& workers, double examples,
                  double seconds, double test_auc);

/// Prints results of several runs beside each other; the first file says what is possible. @throws Error
/// data.file
int compare(std::vector<std::string> const& files);

}  // namespace ctr_dnn
