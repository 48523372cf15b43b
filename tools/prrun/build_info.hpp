// SPDX-License-Identifier: Apache-2.0
// What this prrun was built with; CMake fills it in.
#pragma once

namespace prrun {

struct BuildInfo {
  bool ssl = false;   ///< pods can be listed over HTTPS
  bool cuda = false;  ///< the CUDA toolkit was there
  bool blas = false;  ///< prdist::nn was built
  bool debug = false;
};

extern BuildInfo const build_info;

}  // namespace prrun
