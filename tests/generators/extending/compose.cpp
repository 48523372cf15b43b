// SPDX-License-Identifier: Apache-2.0
// The job as services of Docker Compose, one for each server and trainer.
#include <prdist/core/text.hpp>

#include "target.hpp"
#include "targets/pod.hpp"

namespace prdist::gen {

std::vector<File> render_compose(TargetInput const& input) {
  auto const& job = input.job;
  auto const endpoints = endpoint_list("pserver-", job.server_num.value, "", job.port.value);
  auto processes = Json::array();
  for (std::int64_t i = 0; i < job.pods(); ++i) {
    bool const server = i < job.server_num.value;
    auto const id = server ? i : i - job.server_num.value;
    Json env = {{"TRAINING_ROLE", server ? "PSERVER" : "TRAINER"},
                {server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID", concat(id)},
                {"PADDLE_TRAINERS_NUM", concat(job.trainer_num.value)},
                {"PADDLE_PSERVERS_IP_PORT_LIST", endpoints}};
    for (auto const& [name, value] : job.env.items) env[name.value] = value.value;
    auto command = Json::array();
    for (auto const& word : (server ? job.command_of_servers() : job.command_of_trainers()).items) {
      command.push_back(word.value);
    }
    processes.push_back(
        {{"name", concat(server ? "pserver-" : "trainer-", id)}, {"env", std::move(env)}, {"command", command}});
  }
  if (!job.image.given) {
    input.diagnostics.error("PR008", at(job.submit, "submit.docker_image"), "is missing: what the services run",
                            "add for example docker_image: hub.example.com/ctr:1.0");
    return {};
  }
  Json const data = {{"image", job.image.value}, {"processes", processes}};
  return {{"compose.yaml", input.renderer.yaml("compose.yaml", data)}};
}

}  // namespace prdist::gen
