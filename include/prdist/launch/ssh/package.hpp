// SPDX-License-Identifier: Apache-2.0
// What of a local folder goes to which node: everything, but of data that is cut for the nodes only the node's own
// part. Data is cut when the folder has
//   data/N/      a folder per node: node N gets what is in it as data/
//   N/data/      the same, as start_paddle.py reads it; nothing else below numbered folders is copied
//   X-00000 ...  files that `split -d -a 5` makes, as many as there are nodes: node N gets X-0000N under its name
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct PackageEntry {
  std::filesystem::path source;
  std::string name;     ///< in the workspace, with '/' between its parts
  bool follow = false;  ///< the source is a link that leads out of the package: what it points to is copied
};

struct Package {
  std::vector<PackageEntry> entries;  ///< folders before what is in them
  std::vector<std::string> cut;       ///< what was found cut, such as "data/N"
};

namespace detail {

namespace fs = std::filesystem;

/// The node that a folder or a split file's ending names, as text of digits alone.
[[nodiscard]] inline bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether `path`, a link, stays inside `root` when it is followed as it stands.
[[nodiscard]] inline bool stays_inside(fs::path const& root, fs::path const& path) {
  std::error_code error;
  auto const target = fs::read_symlink(path, error);
  if (error || target.is_absolute()) return false;
  auto const inner = (path.parent_path() / target).lexically_normal().lexically_relative(root.lexically_normal());
  return !inner.empty() && *inner.begin() != "..";
}

class PackageWalk {
 public:
  PackageWalk(fs::path root, std::size_t node, std::size_t nodes)
      : root_(std::move(root)), node_(node), nodes_(nodes) {}

  [[nodiscard]] Package walk(bool whole) {
    whole_ = whole;
    std::error_code ignored;
    below_data_ = !whole && has_numbered(root_ / "data", "");
    beside_data_ = !whole && !below_data_ && has_numbered(root_, "data");
    if (below_data_) package_.cut.emplace_back("data/N");
    if (beside_data_) package_.cut.emplace_back("N/data");
    folder(root_, "", 0);
    auto const own = below_data_ ? root_ / "data" / concat(node_) : root_ / concat(node_) / "data";
    if (below_data_ || beside_data_) {
      if (!fs::is_directory(own, ignored)) {
        throw Error(Errc::data_file, "ssh: node ", node_, " has no data: '", own.string(), "' does not exist, but ",
                    "other nodes have such a folder: cut the data for every node, or give --whole_package");
      }
      if (std::ranges::find(package_.entries, "data", &PackageEntry::name) == package_.entries.end()) {
        package_.entries.push_back({own, "data", true});
      }
      folder(own, "data/", 0);
    }
    std::ranges::sort(package_.cut);
    auto const twice = std::ranges::unique(package_.cut);
    package_.cut.erase(twice.begin(), twice.end());
    return std::move(package_);
  }

 private:
  /// Whether there are folders `folder/N/below`.
  [[nodiscard]] static bool has_numbered(fs::path const& folder, std::string const& below) {
    std::error_code error;
    std::error_code ignored;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (is_number(entry->path().filename().native()) && fs::is_directory(entry->path() / below, ignored)) return true;
    }
    return false;
  }

  void folder(fs::path const& folder, std::string const& prefix, std::size_t depth) {
    if (depth > 64) {
      throw Error(Errc::config_invalid, "ssh: '", folder.string(), "' is more than 64 folders deep",
                  ": give a flatter package");
    }
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().native());
    }
    if (error) {
      throw Error(Errc::config_invalid, "ssh: the folder '", folder.string(), "' cannot be read, ", error.message(),
                  ": check --job_dispatch_package");
    }
    std::ranges::sort(names);
    auto const split = whole_ ? std::map<std::string, std::size_t, std::less<>>() : split_files(names);
    for (auto const& name : names) {
      auto const path = folder / name;
      auto const dash = name.rfind('-');
      auto const found = dash == std::string::npos ? split.end() : split.find(std::string_view(name).substr(0, dash));
      if (found != split.end() && found->second == nodes_ && is_part(name)) {
        package_.cut.push_back(concat(prefix, found->first, "-0000N"));
        if (name.substr(dash + 1) != padded(node_)) continue;
      }
      bool const numbered = is_number(name);
      std::error_code ignored;
      if (numbered && below_data_ && folder == root_ / "data" && fs::is_directory(path, ignored)) continue;
      if (numbered && beside_data_ && folder == root_ && fs::is_directory(path / "data", ignored)) continue;
      add(path, prefix + name, depth);
    }
  }

  void add(fs::path const& path, std::string const& name, std::size_t depth) {
    std::error_code error;
    auto const status = fs::symlink_status(path, error);
    bool const link = fs::is_symlink(status);
    bool const follow = link && !stays_inside(root_, path);
    auto const kind = follow ? fs::status(path, error) : status;
    if (follow && !fs::exists(kind)) {
      throw Error(Errc::config_invalid, "ssh: the link '", path.string(),
                  "' leads nowhere: take it out of the package, or put its file there");
    }
    if (follow && fs::is_directory(kind) && leads_back(path)) {
      throw Error(Errc::config_invalid, "ssh: the link '", path.string(),
                  "' leads back to a folder above it, without end: take it out of the package");
    }
    // Sockets, pipes and devices mean nothing on another machine.
    if (!fs::is_regular_file(kind) && !fs::is_directory(kind) && !fs::is_symlink(kind)) return;
    package_.entries.push_back({path, name, follow});
    if (fs::is_directory(kind)) folder(path, name + "/", depth + 1);
  }

  [[nodiscard]] static bool leads_back(fs::path const& link) {
    std::error_code error;
    auto const target = fs::canonical(link, error);
    auto const place = fs::canonical(link.parent_path(), error);
    return error || std::ranges::mismatch(target, place).in1 == target.end();
  }

  [[nodiscard]] static std::string padded(std::size_t number) {
    auto text = concat(number);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  }
  [[nodiscard]] static bool is_part(std::string_view name) {
    return name.size() > 6 && name[name.size() - 6] == '-' && is_number(name.substr(name.size() - 5));
  }

  /// How many parts each split file has; 0 for one whose parts are not 0, 1, 2 and so on.
  [[nodiscard]] static std::map<std::string, std::size_t, std::less<>> split_files(
      std::vector<std::string> const& sorted) {
    std::map<std::string, std::size_t, std::less<>> parts;
    std::map<std::string, bool> broken;
    for (auto const& name : sorted) {
      if (!is_part(name)) continue;
      auto const stem = name.substr(0, name.size() - 6);
      broken[stem] = broken[stem] || name.substr(name.size() - 5) != padded(parts[stem]);
      ++parts[stem];
    }
    for (auto const& [stem, is_broken] : broken) {
      if (is_broken) parts[stem] = 0;
    }
    return parts;
  }

  fs::path root_;
  std::size_t node_;
  std::size_t nodes_;
  bool whole_ = false;
  bool below_data_ = false;
  bool beside_data_ = false;
  Package package_;
};

}  // namespace detail

/// What node `node` of `nodes` gets of `folder`; with `whole`, all of it. Links that stay inside the folder stay links,
/// others are followed. @throws Error config.invalid, data.file
[[nodiscard]] inline Package package_for(std::filesystem::path const& folder, std::size_t node, std::size_t nodes,
                                         bool whole) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(Errc::config_invalid, "ssh: '", folder.string(),
                "' is not a folder: give the workspace to copy with --job_dispatch_package");
  }
  return detail::PackageWalk(folder, node, nodes).walk(whole);
}

}  // namespace prdist
