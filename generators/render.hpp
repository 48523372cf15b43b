// SPDX-License-Identifier: Apache-2.0
// Data and a template to text. A template reaches values by functions alone: in YAML q() quotes a string, block()
// writes it as lines, num() a number, tree() a whole subtree, part() another template; sh(), args(), ini() and word()
// serve the other files. A bare {{ value }} is refused, and YAML is returned only with the proof of proof.hpp.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "node.hpp"

namespace prdist::gen {

using Json = nlohmann::json;

/// A template that is missing, wrong, or wrote something other than it was meant to.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Renderer {
 public:
  explicit Renderer(std::filesystem::path directory);
  ~Renderer();
  Renderer(Renderer const&) = delete;
  Renderer& operator=(Renderer const&) = delete;

  /// The template `name` (k8s.yaml means k8s.yaml.inja) as text, unchecked: for scripts and lists of hosts.
  /// @throws TemplateError
  [[nodiscard]] std::string text(std::string const& name, Json const& data);

  /// The same for YAML, proved. @throws TemplateError
  [[nodiscard]] std::string yaml(std::string const& name, Json const& data);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The documents of a text that yaml() returned, as values: numbers and booleans only where they are not quoted.
[[nodiscard]] std::vector<Json> documents_of(std::string const& text);

}  // namespace prdist::gen
