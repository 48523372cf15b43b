// SPDX-License-Identifier: Apache-2.0
// The job on this machine: a script with one prrun command, which starts, watches and ends all processes.
#include <prdist/core/text.hpp>

#include "../target.hpp"

namespace prdist::gen {

std::vector<File> render_local(TargetInput const& input) {
  auto const& job = input.job;
  auto env = Json::array();
  env.push_back({{"name", "GLOG_v"}, {"value", concat(job.log_level.value)}});
  if (job.model.threads.given) env.push_back({{"name", "CPU_NUM"}, {"value", concat(job.model.threads.value)}});
  if (job.model.source) env.push_back({{"name", "PRDIST_CONFIG"}, {"value", job.model.source->name}});
  for (auto const& [name, value] : job.env.items) env.push_back({{"name", name.value}, {"value", value.value}});
  auto command = Json::array();
  for (auto const& word : job.command.items) command.push_back(word.value);
  if (command.empty()) command = {"prtrain", "-m", job.model.source ? job.model.source->name : "config.yaml"};
  Json const data = {{"name", job.job_name.value},
                     {"servers", job.server_num.value},
                     {"trainers", job.trainer_num.value},
                     {"time_limit", job.time_limit.value},
                     {"env", env},
                     {"command", command}};
  return {{"run.sh", input.renderer.text("local.sh", data), true}};
}

}  // namespace prdist::gen
