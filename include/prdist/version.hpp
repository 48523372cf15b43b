// SPDX-License-Identifier: Apache-2.0
// The version, once: CMake, Conan and the start-up line read it from here.
#pragma once

#include <string_view>

namespace prdist {

inline constexpr std::string_view version = "0.1.0";

}  // namespace prdist
