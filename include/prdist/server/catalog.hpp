// SPDX-License-Identifier: Apache-2.0
// The tables a server has been told of. The first declaration of a name counts; a different one is refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/server/versions.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/spec_json.hpp>

namespace prdist {

struct TableInfo {
  AnySpec spec;
  std::vector<std::uint32_t> ranges{};  ///< of a dense table: those of this server
  std::vector<std::size_t> starts{};    ///< where each of them begins in the packed ranges, and the end
  std::shared_ptr<Versions> versions = std::make_shared<Versions>();

  [[nodiscard]] SparseSpec const* sparse() const { return std::get_if<SparseSpec>(&spec); }
  [[nodiscard]] DenseSpec const* dense() const { return std::get_if<DenseSpec>(&spec); }
  [[nodiscard]] ApplyRule apply() const {
    return std::visit([](auto const& it) { return it.apply; }, spec);
  }
  /// The part of a dense table to which float `at` of the packed ranges belongs.
  [[nodiscard]] std::string part_at(std::size_t at) const {
    auto const range = static_cast<std::size_t>(std::ranges::upper_bound(starts, at) - starts.begin()) - 1;
    auto element = ranges[range] * range_floats + (at - starts[range]);
    for (auto const& part : dense()->parts) {
      if (element < part.size) return part.name;
      element -= part.size;
    }
    return {};
  }
  [[nodiscard]] StalenessBound bound() const {
    return std::visit([](auto const& it) { return it.staleness; }, spec);
  }
};

class Catalog {
 public:
  /// Adds a table; true when it was new. Fails when the name is known with another declaration.
  [[nodiscard]] Result<bool> add(AnySpec const& spec, Placement const& placement, std::size_t server) {
    auto const id = table_id(name_of(spec));
    std::unique_lock const lock(mutex_);
    if (auto const it = tables_.find(id); it != tables_.end()) {
      auto const& known = it->second->spec;
      if (name_of(known) != name_of(spec)) {
        return Error(Errc::table_mismatch, "the names '", name_of(spec), "' and '", name_of(known),
                     "' share a number: rename one of the tables");
      }
      if (auto const how = difference(spec, known); !how.empty()) {
        return Error(Errc::table_mismatch, "table '", name_of(spec), "': ", how,
                     ": all trainers must run the same program with the same options");
      }
      return false;
    }
    TableInfo info{spec};
    if (auto const* const dense = info.dense()) {
      info.ranges = placement.ranges_of(hash_name(dense->name), dense->size(), server);
      info.starts.push_back(0);
      for (auto const range : info.ranges) {
        info.starts.push_back(info.starts.back() + range_length(dense->size(), range));
      }
    }
    tables_.emplace(id, std::make_shared<TableInfo const>(std::move(info)));
    return true;
  }

  /// Null when it is not declared.
  [[nodiscard]] std::shared_ptr<TableInfo const> find(TableId id) const {
    std::shared_lock const lock(mutex_);
    auto const it = tables_.find(id);
    return it == tables_.end() ? nullptr : it->second;
  }

  [[nodiscard]] std::vector<std::pair<TableId, std::shared_ptr<TableInfo const>>> all() const {
    std::shared_lock const lock(mutex_);
    return {tables_.begin(), tables_.end()};
  }

  [[nodiscard]] bool any_gathers() const {
    for (auto const& [id, info] : all()) {
      if (info->apply() == ApplyRule::gather) return true;
    }
    return false;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<TableId, std::shared_ptr<TableInfo const>> tables_;
};

}  // namespace prdist
