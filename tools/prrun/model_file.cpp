// SPDX-License-Identifier: Apache-2.0
#include "model_file.hpp"

#include <algorithm>
#include <cctype>
#include <system_error>

#include <prdist/launch/command.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/program.hpp>

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

bool is_package(std::string const& text) {
  auto const plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return text.find('.') != std::string::npos && text.find("..") == std::string::npos && text.front() != '.' &&
         text.back() != '.' && std::ranges::all_of(text, plain);
}

/// The folder that holds the package `name`, by the Python of this machine; empty when there is none.
std::string python_folder_of(std::string const& name, Environment const& environment) {
  auto const python = find_program("python3", environment("PATH").value_or(""), "");
  if (!python) return {};
  CommandRequest request;
  request.program = python->string();
  request.arguments = {"-c",
                       "import importlib.util, os, sys\n"
                       "spec = importlib.util.find_spec(sys.argv[1])\n"
                       "folders = list(spec.submodule_search_locations or []) if spec else []\n"
                       "print(os.path.dirname(os.path.abspath(folders[0])) if folders else '', end='')",
                       name};
  request.environment = current_environment();
  auto const ran = run_command(request);
  return ran && ran->ending.ok() ? ran->out : std::string();
}

}  // namespace

Result<std::string> find_model_file(std::string const& given, Environment const& environment) {
  std::error_code error;
  if (given == "-" || fs::is_regular_file(given, error)) return given;
  if (auto const inside = fs::path(given) / "config.yaml"; fs::is_regular_file(inside, error)) return inside.string();
  if (given.empty() || !is_package(given) || given.ends_with(".yaml") || given.ends_with(".yml")) {
    return Error(Errc::config_missing, "submit: there is no file '", given,
                 "': -m takes a config.yaml, a folder with one, or a package such as paddlerec.models.rank.dnn");
  }
  auto below = given;
  std::ranges::replace(below, '.', '/');
  auto const first = given.substr(0, given.find('.'));
  for (auto const& base : {below, below.substr(first.size() + 1)}) {
    if (auto path = fs::path(base) / "config.yaml"; fs::is_regular_file(path, error)) return path.string();
  }
  auto const folder = python_folder_of(first, environment);
  if (auto path = fs::path(folder) / below / "config.yaml"; !folder.empty() && fs::is_regular_file(path, error)) {
    return path.string();
  }
  return Error(Errc::config_missing, "submit: the package '", given, "' has no config.yaml here (", below,
               "/config.yaml) ", folder.empty() ? concat("and Python finds no ", first) : concat("nor in ", folder),
               ": pip install it, go to its folder, or give the path of a config.yaml with -m");
}

}  // namespace prrun
