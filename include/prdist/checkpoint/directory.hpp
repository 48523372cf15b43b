// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints: DIR/pass-00007/ with parts, manifest.json and `done`. A checkpoint is written under a
// temporary name and renamed when every byte of it is on the disk: whatever has the final name is complete, and a crash
// at any moment leaves the ones before as they were. Nothing here knows servers; all of it blocks on the disk.
#pragma once

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/checkpoint/files.hpp>
#include <prdist/checkpoint/manifest.hpp>
#include <prdist/checkpoint/part_format.hpp>
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/core/descriptor.hpp>
#include <prdist/core/log.hpp>

namespace prdist {

/// `pass-00007`
[[nodiscard]] inline std::string pass_name(std::uint64_t pass) {
  auto const number = concat(pass);
  return concat("pass-", std::string(number.size() < 5 ? 5 - number.size() : 0, '0'), number);
}

/// A complete checkpoint: its parts are there, with the sizes and checksums of the manifest.
struct Checkpoint {
  std::string path{};
  std::string id{};  ///< the checksum of its manifest, by which an incremental one names its base
  Manifest manifest{};

  [[nodiscard]] std::string part_path(PartSummary const& part) const { return concat(path, '/', part.name); }

  /// Opens a part; its errors name tables as the manifest does. @throws Error as PartReader
  [[nodiscard]] PartReader read(PartSummary const& part) const {
    PartReader::Names names;
    for (auto const& table : manifest.tables) names.emplace(table_id(name_of(table.spec)), name_of(table.spec));
    return PartReader(part_path(part), std::move(names));
  }
};

namespace detail {

inline constexpr std::string_view temporary_mark = ".tmp-";

/// The number in `pass-00007`, or nothing for any other name.
[[nodiscard]] inline std::optional<std::uint64_t> pass_of(std::string_view name) {
  std::uint64_t pass = 0;
  if (!name.starts_with("pass-") || !parse_number(name.substr(5), pass) || name != pass_name(pass)) return {};
  return pass;
}

/// The last name in `path`, whether a slash stands behind it or not.
[[nodiscard]] inline std::string_view last_name(std::string_view path) {
  path = path.substr(0, path.find_last_not_of('/') + 1);
  return path.substr(path.rfind('/') + 1);
}

[[nodiscard]] inline bool is_temporary(std::string_view name) {
  auto const mark = name.find(temporary_mark);
  return mark != std::string_view::npos && pass_of(name.substr(0, mark)).has_value();
}

[[nodiscard]] inline std::string done_text(std::string_view id) {
  return concat(version, "\nmanifest ", id, '\n');
}

/// The names in `directory`, sorted. One that does not exist has none. @throws Error checkpoint.file
[[nodiscard]] inline std::vector<std::string> names_in(std::string const& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator it(directory, failed);
  for (; !failed && it != std::filesystem::directory_iterator{}; it.increment(failed)) {
    names.push_back(it->path().filename().native());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    throw Error(Errc::checkpoint_file, directory, ", cannot be listed, ", failed.message(), ": check the path");
  }
  std::ranges::sort(names);
  return names;
}

/// Takes a checkpoint away so that no moment shows half of it. @throws Error checkpoint.file
inline void remove_checkpoint(std::string const& path) {
  auto const aside = concat(path, temporary_mark, "removed");
  std::error_code failed;
  std::filesystem::remove_all(aside, failed);  // left by a removal that was cut short
  publish(path, aside);
  std::filesystem::remove_all(aside, failed);
  if (failed) log(Level::warning, aside, ", cannot be removed, ", failed.message(), ": remove it by hand");
}

/// What `path` says of itself, without a look at its parts. @throws Error as open_checkpoint()
[[nodiscard]] inline Checkpoint read_manifest(std::string path) {
  std::error_code failed;
  if (!std::filesystem::exists(concat(path, "/done"), failed)) {
    throw Error(Errc::checkpoint_missing, path,
                ", has no file 'done', so it is not a complete checkpoint: load another");
  }
  auto const file = concat(path, "/manifest.json");
  auto const text = read_text(file);
  auto id = hex(checksum(detail::bytes_of_text(text)));
  if (auto const done = read_text(concat(path, "/done")); done.find(concat("manifest ", id, '\n')) == done.npos) {
    throw Error(Errc::checkpoint_damaged, file, ", its checksum ", id,
                " is not the one in 'done': restore the file from a copy, or load an older checkpoint");
  }
  Checkpoint checkpoint{std::move(path), std::move(id), manifest_from_json(text, file)};
  // Under another number it would be taken for older or newer than it is, and for the base of others.
  auto const pass = checkpoint.manifest.pass;
  if (auto const named = pass_of(last_name(checkpoint.path)); named && *named != pass) {
    throw Error(Errc::checkpoint_damaged, checkpoint.path, ", is named ", pass_name(*named), " and its manifest says ",
                pass_name(pass), ": give the folder its name back, or load another checkpoint");
  }
  return checkpoint;
}

/// Opens a file of `checkpoint` that is the one its manifest is about. @throws Error as open_checkpoint()
[[nodiscard]] inline PartReader read_checked(Checkpoint const& checkpoint, PartSummary const& part) {
  auto reader = checkpoint.read(part);
  if (reader.bytes() != part.bytes || reader.checksum_of_all() != part.checksum || reader.server() != part.server) {
    throw Error(Errc::checkpoint_damaged, reader.path(), ", has ", reader.bytes(), " bytes and checksum ",
                hex(reader.checksum_of_all()), ", the manifest says ", part.bytes, " and ", hex(part.checksum),
                ": it belongs to another checkpoint, restore the right one or load an older checkpoint");
  }
  return reader;
}

/// @throws Error as open_checkpoint()
inline void check_parts(Checkpoint const& checkpoint) {
  for (auto const& part : checkpoint.manifest.parts) (void)read_checked(checkpoint, part);
}

}  // namespace detail

/// Reads `path`/done and manifest and looks at every part's size and index; rows are verified when they are read, and
/// workers' copies when workers want them: the weights are whole without.
/// @throws Error checkpoint.missing when it is not complete; checkpoint.damaged, checkpoint.version, checkpoint.file
[[nodiscard]] inline Checkpoint open_checkpoint(std::string path) {
  auto checkpoint = detail::read_manifest(std::move(path));
  detail::check_parts(checkpoint);
  return checkpoint;
}

/// `newest` and what it builds on, in the order in which to load them: the full one first.
/// @throws Error checkpoint.missing when a base is not there or was saved again since; as open_checkpoint()
[[nodiscard]] inline std::vector<Checkpoint> chain_of(Checkpoint newest) {
  std::vector<Checkpoint> chain{std::move(newest)};
  while (chain.back().manifest.base) {
    auto const& above = chain.back();
    auto const& base = *above.manifest.base;
    auto const folder = std::filesystem::path(above.path).parent_path();
    auto const path = (folder / pass_name(base.pass)).native();
    auto const refuse = [&](std::string_view why) {
      throw Error(Errc::checkpoint_missing, above.path, ", holds what changed since ", pass_name(base.pass), ", and ",
                  path, ' ', why, ": restore that one, or load an older full checkpoint");
    };
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) refuse("is not there");
    if (base.pass >= above.manifest.pass) refuse("is not an earlier one");
    auto below = open_checkpoint(path);
    if (below.id != base.id) refuse("was saved again since");
    chain.push_back(std::move(below));
  }
  std::ranges::reverse(chain);
  return chain;
}

/// The passes in `directory` that have the final name, in ascending order. @throws Error checkpoint.file
[[nodiscard]] inline std::vector<std::uint64_t> passes_in(std::string const& directory) {
  std::vector<std::uint64_t> passes;
  for (auto const& name : detail::names_in(directory)) {
    if (auto const pass = detail::pass_of(name)) passes.push_back(*pass);
  }
  std::ranges::sort(passes);
  return passes;
}

/// The newest checkpoint that can be loaded with all it builds on; passes from `below` on are not looked at. Each one
/// that is passed over is told in a line of the log. None is there: an empty optional.
/// @throws Error checkpoint.file when the folder itself cannot be read
[[nodiscard]] inline std::optional<Checkpoint> latest(std::string const& directory,
                                                      std::uint64_t below = ~std::uint64_t{0}) {
  auto passes = passes_in(directory);
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    if (*pass >= below) continue;
    try {
      return std::move(chain_of(open_checkpoint(concat(directory, '/', pass_name(*pass)))).back());
    } catch (Error const& error) {
      log(Level::warning, "checkpoint ", pass_name(*pass), " is passed over: ", error.what());
    }
  }
  return std::nullopt;
}

/// Reads and verifies every block of one file. @throws Error as open_checkpoint()
inline void verify(Checkpoint const& checkpoint, PartSummary const& part) {
  detail::read_checked(checkpoint, part).for_each([](auto, auto) { return true; }, [](auto const&) {});
}

/// The same of all files. @throws Error as open_checkpoint()
inline void verify(Checkpoint const& checkpoint) {
  for (auto const* const part : checkpoint.manifest.files()) verify(checkpoint, *part);
}

/// Removes complete checkpoints but the newest `keep` and what those build on. One that cannot be read is not counted
/// and left as it is, with what it builds on: somebody may want to mend it. Rows are not read here: `damaged` are the
/// ids of those of which a load has found out; another may have its number by now. @throws Error checkpoint.file
inline void prune(std::string const& directory, std::size_t keep, std::set<std::string> const& damaged = {}) {
  // Each is opened once, from the oldest on: a base stands before what builds on it.
  std::map<std::uint64_t, Checkpoint> complete;
  std::vector<CheckpointBase> wanted;  // by those that are left
  for (auto const pass : passes_in(directory)) {
    std::optional<CheckpointBase> base;
    try {
      auto checkpoint = detail::read_manifest(concat(directory, '/', pass_name(pass)));
      base = checkpoint.manifest.base;
      if (damaged.contains(checkpoint.id)) {
        if (base) wanted.push_back(*base);
        continue;
      }
      detail::check_parts(checkpoint);
      if (base) {
        auto const below = complete.find(base->pass);
        if (below == complete.end() || below->second.id != base->id || base->pass >= pass) {
          throw Error(Errc::checkpoint_missing, checkpoint.path, ", holds what changed since ", pass_name(base->pass),
                      ", which is not there as it was");
        }
      }
      complete.emplace(pass, std::move(checkpoint));
    } catch (Error const& error) {
      log(Level::warning, "checkpoint ", pass_name(pass), " is not counted and not removed: ", error.what());
      if (base) wanted.push_back(*base);
    }
  }
  std::set<std::uint64_t> needed;
  auto const need = [&](Checkpoint const* each) {
    while (needed.insert(each->manifest.pass).second && each->manifest.base) {
      each = &complete.at(each->manifest.base->pass);
    }
  };
  for (auto it = complete.rbegin(); it != complete.rend() && keep > 0; ++it, --keep) need(&it->second);
  for (auto const& base : wanted) {
    // One that was saved again since is of no use to it; one that is damaged stays anyway, with its own base.
    if (auto const it = complete.find(base.pass); it != complete.end() && it->second.id == base.id) need(&it->second);
  }
  // The newest first: a crash in between leaves none whose base has gone, which nobody would count, or remove.
  for (auto it = complete.rbegin(); it != complete.rend(); ++it) {
    if (!needed.contains(it->first)) detail::remove_checkpoint(it->second.path);
  }
}

/// Removes what crashed writers have left under temporary names; returns how many. A writer holds a lock on its folder
/// which the system takes back when it dies: one that still writes is left alone.
/// @throws Error checkpoint.file
inline std::size_t remove_leftovers(std::string const& directory) {
  std::size_t removed = 0;
  for (auto const& name : detail::names_in(directory)) {
    if (!detail::is_temporary(name)) continue;
    auto const path = concat(directory, '/', name);
    Descriptor const folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
      // Also where the file system has no locks: too much is better than too little.
      log(Level::info, path, " is left alone: ", std::generic_category().message(errno));
      continue;
    }
    std::error_code failed;
    std::filesystem::remove_all(path, failed);
    if (failed) {
      log(Level::warning, path, ", cannot be removed, ", failed.message(), ": remove it by hand");
    } else {
      log(Level::info, path, " was left by a save that did not end: removed");
      ++removed;
    }
  }
  return removed;
}

}  // namespace prdist
