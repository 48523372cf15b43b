// SPDX-License-Identifier: Apache-2.0
// What the command line adds to the file: everything here is optional and beats what the file says.
#pragma once

#include <string>
#include <vector>

#include "dialects/dialect.hpp"
#include "yaml_reader.hpp"

namespace prdist::gen {

enum class Profile { safe, legacy };

struct Options {
  std::string backend{};
  std::string name_space{};
  std::vector<std::string> command{};
  Profile profile = Profile::safe;
  int kube_minor = 33;  ///< of Kubernetes 1.x
  std::string template_dir{};
  std::vector<Override> overrides{};
  ReadOptions reading{};
};

}  // namespace prdist::gen
