// SPDX-License-Identifier: Apache-2.0
// The commands. Each takes its words and flags, puts what it has to say on `out` into a string, and returns an exit
// code; diagnostics are printed by the caller.
#pragma once

#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "../cli.hpp"
#include "../diagnostic.hpp"
#include "../pipeline.hpp"

namespace prdist::gen {

struct Context {
  Invocation const& invocation;
  std::istream& in;
  Diagnostics& diagnostics;
  std::string out{};  ///< printed only when the exit code says so
};

/// A fault of the machine, not of the input: a file that cannot be read or written.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

int render_command(Context& context);
int check_command(Context& context);
int convert_command(Context& context);
int plan_command(Context& context);
int diff_command(Context& context);
int explain_command(Context& context);
int schema_command(Context& context);
int init_command(Context& context);
int completion_command(Context& context);

/// The file, or stdin for "-". @throws IoError
[[nodiscard]] SourcePtr read_source(std::string const& name, std::istream& in);

/// All files of the invocation, loaded; look at the diagnostics.
[[nodiscard]] std::vector<Job> load_all(Context& context);

/// The Kubernetes objects among the rendered files, as one text with a line '---' in front of each.
[[nodiscard]] std::string manifest(std::vector<File> const& files);

/// Whole or not at all: beside its place first, then renamed. What is left there of an earlier run is removed, never
/// written through: it may be a link to somewhere else. @throws IoError
void write_file(std::filesystem::path const& path, File const& file);

}  // namespace prdist::gen
