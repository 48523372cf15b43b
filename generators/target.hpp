// SPDX-License-Identifier: Apache-2.0
// What a target is: a name, and a function from a complete JobSpec to files. Adding one is adding a file in targets/, a
// template and a line in targets/registry.cpp; docs/extending.md walks through it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostic.hpp"
#include "job_spec.hpp"
#include "options.hpp"
#include "render.hpp"

namespace prdist::gen {

struct File {
  std::string name;
  std::string text;
  bool executable = false;
  bool yaml = false;  ///< Kubernetes objects
};

struct TargetInput {
  JobSpec const& job;
  Options const& options;
  Renderer& renderer;
  Diagnostics& diagnostics;
};

struct Target {
  std::string_view name;
  std::string_view about;
  bool kubernetes;  ///< names, images and quantities have to please an apiserver
  std::vector<File> (*render)(TargetInput const&);
};

[[nodiscard]] std::span<Target const> targets();
[[nodiscard]] Target const* find_target(std::string_view name);
/// Their names as people list them: a, b or c.
[[nodiscard]] std::string target_list();

std::vector<File> render_k8s(TargetInput const& input);
std::vector<File> render_volcano(TargetInput const& input);
std::vector<File> render_paddlejob(TargetInput const& input);
std::vector<File> render_mpi(TargetInput const& input);
std::vector<File> render_paddlecloud(TargetInput const& input);
std::vector<File> render_local(TargetInput const& input);

}  // namespace prdist::gen
