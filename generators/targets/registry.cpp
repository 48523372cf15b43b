// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <prdist/core/text.hpp>

#include "../target.hpp"

namespace prdist::gen {

namespace {

constexpr std::array all{
    Target{"k8s", "plain Kubernetes: Jobs, a headless Service, a NetworkPolicy", true, render_k8s},
    Target{"volcano", "a Volcano Job: gang scheduling, queues", true, render_volcano},
    Target{"paddlejob", "a PaddleJob of paddle-operator or of Kubeflow", true, render_paddlejob},
    Target{"mpi", "a hostfile and start scripts for mpirun", false, render_mpi},
    Target{"paddlecloud", "a submission folder for PaddleCloud", false, render_paddlecloud},
    Target{"local", "a script that runs the job on this machine by prrun", false, render_local},
};

}  // namespace

std::span<Target const> targets() {
  return all;
}

Target const* find_target(std::string_view name) {
  for (auto const& target : all) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

std::string target_list() {
  std::string list;
  for (auto const& target : all) {
    list += concat(list.empty() ? "" : &target == &all.back() ? " or " : ", ", target.name);
  }
  return list;
}

}  // namespace prdist::gen
