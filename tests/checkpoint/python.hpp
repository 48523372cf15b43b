// What Python makes of a file that numpy.load() should read.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include <prdist/core/text.hpp>

/// The lines of read_npz.py about `path`.
inline std::string read_by_python(std::string const& path) {
  auto const command = prdist::concat(PYTHON_PROGRAM, " '", READ_NPZ_SCRIPT, "' '", path, "' 2>&1");
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string text;
  for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  return text;
}
