// SPDX-License-Identifier: Apache-2.0
// The config.yaml that -m names: a file, a folder that holds one, or a package as PaddleRec's users write it.
#pragma once

#include <filesystem>
#include <string>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>

namespace prrun {

/// The path of the file. A dotted name (paddlerec.models.rank.dnn) is looked for below the current folder, with and
/// without its first part, and then where Python finds the package; nothing of it is imported.
[[nodiscard]] prdist::Result<std::string> find_model_file(std::string const& given,
                                                          prdist::Environment const& environment);

}  // namespace prrun
