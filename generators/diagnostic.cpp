// SPDX-License-Identifier: Apache-2.0
#include "diagnostic.hpp"

#include <algorithm>
#include <map>
#include <prdist/core/text.hpp>
#include <tuple>

namespace prdist::gen {

void Diagnostics::add(Diagnostic diagnostic) {
  for (auto const& secret : secrets_) {
    for (auto* const text : {&diagnostic.message, &diagnostic.help, &diagnostic.where.path}) {
      for (std::size_t i = 0; (i = text->find(secret, i)) != std::string::npos; i += 3) {
        text->replace(i, secret.size(), "***");
      }
    }
  }
  // Two checks that find the same fault at the same place say it once.
  for (auto const& old : list_) {
    if (old.code == diagnostic.code && old.message == diagnostic.message &&
        old.where.source == diagnostic.where.source && old.where.line == diagnostic.where.line &&
        old.where.column == diagnostic.where.column && old.where.path == diagnostic.where.path) {
      return;
    }
  }
  if (diagnostic.severity == Severity::error) ++errors_;
  if (diagnostic.severity == Severity::warning) ++warnings_;
  list_.push_back(std::move(diagnostic));
}

bool Diagnostics::mentions(std::string_view path) const {
  auto const leaf = path.substr(path.rfind('.') + 1);  // npos + 1 is the whole
  for (auto const& d : list_) {
    if (d.severity != Severity::error) continue;
    auto const& at = d.where.path;
    if (at == path || (!at.empty() && path.starts_with(at + '.')) || d.help == concat("did you mean '", leaf, "'?")) {
      return true;
    }
  }
  return false;
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::map<Source const*, std::size_t> order;
  for (auto const& diagnostic : list_) order.emplace(diagnostic.where.source.get(), order.size());
  auto sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](Diagnostic const& a, Diagnostic const& b) {
    auto const key = [&](Diagnostic const& d) {
      return std::tuple(d.severity == Severity::note, order.at(d.where.source.get()), d.where.line, d.where.column);
    };
    return key(a) < key(b);
  });
  return sorted;
}

}  // namespace prdist::gen
