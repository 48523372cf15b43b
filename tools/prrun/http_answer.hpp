// SPDX-License-Identifier: Apache-2.0
// What a server answers.
#pragma once

#include <string>

namespace prrun {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

}  // namespace prrun
