// SPDX-License-Identifier: Apache-2.0
// What must hold for any bytes whatever: prgen ends with one of its codes, says why when it fails, prints nothing then,
// and a manifest holds only the kinds of object that it is made of, in the namespace that was asked for.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "cli.hpp"
#include "render.hpp"

namespace prdist::gen::test {

/// Empty, or what does not hold.
inline std::string broken_promise(std::string const& input) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  auto const code = run({"-", "-n", "fuzz", "--template-dir", PRGEN_TEMPLATES}, in, out, err, false);
  auto const text = out.str();
  if (code < 0 || code > 3) return "an exit code of its own";
  if (code == exit_io) return "blames the machine: " + err.str();
  if (code != 0) return text.empty() && !err.str().empty() ? "" : "printed something beside an error, or no error";
  if (!text.starts_with("---\n")) return text.starts_with("#!/bin/sh\n") ? "" : "no manifest";
  std::set<std::string> const known{"ServiceAccount", "Role",          "RoleBinding", "ConfigMap",
                                    "Service",        "NetworkPolicy", "Job",         "PaddleJob"};
  for (auto const& document : documents_of(text)) {
    if (!known.contains(document.value("kind", ""))) return "an object of another kind";
    if (document["metadata"].value("namespace", "") != "fuzz") return "an object in another namespace";
  }
  return {};
}

}  // namespace prdist::gen::test
