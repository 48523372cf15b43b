// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds, as its manifest.json says it: the tables, the parts, how far the job and each trainer's
// data had come. Times are passed in; the same manifest always gives the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>
#include <prdist/data/position.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/spec_json.hpp>
#include <prdist/version.hpp>

namespace prdist {

/// What a reader of this release understands.
inline constexpr std::uint32_t manifest_format = 1;

/// One part file, as the server that wrote it reports it; or a worker's copy, as that worker does.
struct PartSummary {
  struct Table {
    TableId table = 0;
    std::uint64_t rows = 0;
    std::uint64_t removed = 0;  ///< keys named as gone; only in incremental checkpoints
    std::uint64_t bytes = 0;

    friend bool operator==(Table const&, Table const&) = default;
  };

  std::string name{};
  std::uint32_t server = 0;    ///< of a copy: the worker
  std::uint64_t bytes = 0;     ///< of the file
  std::uint64_t checksum = 0;  ///< of its closing record, which stands for all of it
  std::vector<Table> tables{};

  friend bool operator==(PartSummary const&, PartSummary const&) = default;
};

/// The checkpoint that an incremental one adds to. A pass may be saved again, so its number alone does not say which.
struct CheckpointBase {
  std::uint64_t pass = 0;
  std::string id{};

  friend bool operator==(CheckpointBase const&, CheckpointBase const&) = default;
};

struct Manifest {
  struct Table {
    AnySpec spec{};
    std::uint64_t rows = 0;  ///< in this checkpoint's parts; filled by add_part()
    std::uint64_t bytes = 0;

    friend bool operator==(Table const&, Table const&) = default;
  };
  struct Trainer {
    std::uint32_t index = 0;
    DataPosition position{};
    std::string program = "null";       ///< JSON that the program wants back
    std::optional<PartSummary> copy{};  ///< the optimizer's state of one that trains a copy of its own

    friend bool operator==(Trainer const&, Trainer const&) = default;
  };

  std::string release = std::string(version);
  std::string created{};  ///< the time, as the caller writes it
  std::uint64_t pass = 0;
  std::uint64_t step = 0;
  std::string strategy{};
  std::uint32_t servers = 0;
  std::uint32_t shards = shard_count;
  std::optional<CheckpointBase> base{};  ///< none: full. Otherwise: what has changed since
  std::vector<Table> tables{};
  std::vector<PartSummary> parts{};
  std::vector<Trainer> trainers{};

  /// Every file: the servers' parts, then the workers' copies.
  [[nodiscard]] std::vector<PartSummary const*> files() const {
    std::vector<PartSummary const*> all;
    for (auto const& part : parts) all.push_back(&part);
    for (auto const& trainer : trainers) {
      if (trainer.copy) all.push_back(&*trainer.copy);
    }
    return all;
  }

  /// The table of this number, or null.
  [[nodiscard]] Table const* find(TableId id) const {
    for (auto const& table : tables) {
      if (table_id(name_of(table.spec)) == id) return &table;
    }
    return nullptr;
  }

  friend bool operator==(Manifest const&, Manifest const&) = default;
};

/// Enters a part and counts its rows to their tables, which have been entered before.
/// @throws Error table.unknown when the part has rows of another one
void add_part(Manifest& manifest, PartSummary part);

/// Indented, fields always in the same order, with an end of line.
/// @throws Error config.invalid when what a trainer's program keeps is not JSON
[[nodiscard]] std::string to_json(Manifest const& manifest);

/// Reads strictly: an error names `file` and the path inside, such as `parts[2].bytes`.
/// @throws Error checkpoint.damaged, checkpoint.version
[[nodiscard]] Manifest manifest_from_json(std::string_view text, std::string_view file);

/// Where a trainer stands, on its way to who writes the manifest.
/// @throws Error config.invalid when what its program keeps is not JSON
[[nodiscard]] std::string to_json(Manifest::Trainer const& trainer);
/// `from` names the sender in errors. @throws Error checkpoint.damaged
[[nodiscard]] Manifest::Trainer trainer_from_json(std::string_view text, std::string_view from);

/// A part's report on its way from its server to who writes the manifest.
[[nodiscard]] std::string to_json(PartSummary const& part);
/// `from` names the sender in errors. @throws Error checkpoint.damaged
[[nodiscard]] PartSummary part_from_json(std::string_view text, std::string_view from);

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/checkpoint/manifest.ipp>
#endif
