// SPDX-License-Identifier: Apache-2.0
// What the readers of a job have left when it stops, dealt out to another number of readers: every row that nobody has
// delivered goes to exactly one of them. Functions of positions alone; a file's size comes from the caller.
//
//   auto const positions = deal(those_of_the_old_readers, 3, [](std::string const& name) { return file_size(name); });
//   reader.resume(positions[own]);       // reads its part, then the ordinary epochs of its own files
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/data/epoch_order.hpp>
#include <prdist/data/position.hpp>

namespace prdist {

/// How far a job had come.
struct DataLeft {
  std::uint64_t epoch = 0;          ///< the last one that a reader has begun; when none has, the one they would begin
  bool begun = false;               ///< whether there is such a one
  std::vector<DataPiece> pieces{};  ///< what is left of it and of the epochs before it, by epoch and name
};

namespace detail {

/// More would make every later position, and the messages that carry it, too large: a reader with next to no data may
/// be thousands of epochs ahead of the others.
inline constexpr std::size_t most_pieces = 20000;

/// What a reader at `from` has left up to the end of `last`.
inline void add_pieces(DataPosition const& from, std::uint64_t last, std::vector<DataPiece>& pieces) {
  if (from.epoch > last) return;
  auto const& files = *from.files;
  if (from.rest) pieces.insert(pieces.end(), from.rest->begin(), from.rest->end());
  for (auto epoch = from.epoch + (from.rest ? 1 : 0); epoch <= last; ++epoch) {
    auto const order = file_order(files.size(), from.shuffle, epoch);
    std::uint64_t begun = 0;
    if (epoch == from.epoch && from.file > 0) {
      begun = from.file;
      if (begun > files.size() || files[order[begun - 1]] != from.name) {
        throw Error(Errc::data_position, "file ", begun, " of the data is not '", from.name,
                    "': the position is damaged, start without it");
      }
      pieces.push_back({epoch, from.name, begun, from.file_size, from.offset, from.line, from.taken});
    }
    if (pieces.size() + files.size() - begun > most_pieces) {
      throw Error(Errc::data_position, "what is left of the data is in more than ", most_pieces, " pieces, of epochs ",
                  from.epoch, " to ", last,
                  ": the readers stand too far apart to be dealt out anew: start as many as there were");
    }
    for (auto next = begun; next < files.size(); ++next) {
      pieces.push_back({.epoch = epoch, .name = files[order[next]], .number = next + 1});
    }
  }
}

[[nodiscard]] inline bool is_done(DataPiece const& piece) {
  return piece.file_size > 0 && piece.offset == piece.file_size && !piece.name.ends_with(".gz");
}

/// How much of a file is left: of packed and of shuffled ones nobody knows without reading them, half is a guess.
[[nodiscard]] inline std::uint64_t bytes_left(DataPiece const& piece, std::uint64_t size) {
  if (piece.taken > 0 || (piece.offset > 0 && piece.name.ends_with(".gz"))) return size / 2;
  return size - std::min(size, piece.offset);
}

}  // namespace detail

/// @throws Error data.position when a position does not say which files it is about, no reader took it, it was taken
/// with another seed than the others, or is damaged; when they stand too many epochs apart
[[nodiscard]] inline DataLeft data_left(std::span<DataPosition const> positions) {
  DataLeft left;
  for (auto const& each : positions) {
    if (!each.files) {
      throw Error(Errc::data_position, "a position in '", each.name,
                  "' does not say which files its reader had, so nobody else can go on for it: start as many readers "
                  "as there were, or all without a position");
    }
    if (each.source == 0 && !each.files->empty()) {
      throw Error(Errc::data_position,
                  "a position was dealt out and no reader has resumed from it, so it says nothing of that reader's own "
                  "files: give SlotReader::position() to checkpoints");
    }
    if (each.shuffle != positions.front().shuffle) {
      throw Error(Errc::data_position,
                  "positions of readers that shuffled with different seeds cannot be dealt out: start as many readers "
                  "as there were, or all without a position");
    }
    if (each.files->empty() && !each.rest) continue;  // it runs through all epochs at once
    bool const begun = each.file > 0 || each.rest;
    if (each.epoch >= left.epoch) left.begun = begun || (left.begun && each.epoch == left.epoch);
    left.epoch = std::max(left.epoch, each.epoch);
  }
  if (!left.begun && left.epoch == 0) return left;
  auto const last = left.begun ? left.epoch : left.epoch - 1;
  for (auto const& each : positions) detail::add_pieces(each, last, left.pieces);
  std::erase_if(left.pieces, detail::is_done);
  if (left.begun || !left.pieces.empty()) {
    left.begun = true;
    left.epoch = last;
  }
  std::ranges::stable_sort(left.pieces, {},
                           [](DataPiece const& piece) { return std::tie(piece.epoch, piece.name, piece.number); });
  return left;
}

/// A position for each of `readers` readers, which together read what those at `positions` have left. Bytes are shared
/// out evenly, whole files at a time, so one may get nothing: it has no batch until the next epoch. `size_of(name)`
/// gives the bytes of a file, as the disk has it, and is asked for each. The same positions and sizes always give the
/// same answer.
/// @throws Error as data_left(); data.position when a file has not the size that a position knows of
template <class SizeOf>
[[nodiscard]] std::vector<DataPosition> deal(std::span<DataPosition const> positions, std::size_t readers,
                                             SizeOf&& size_of) {
  auto left = data_left(positions);
  DataPosition common{.epoch = left.epoch, .files = std::vector<std::string>{}};
  for (auto const& each : positions) {
    common.files->insert(common.files->end(), each.files->begin(), each.files->end());
    common.shuffle = each.shuffle;
  }
  std::ranges::sort(*common.files);
  // Of all: one that has gone is missed now, and not in a later epoch.
  std::map<std::string, std::uint64_t> sizes;
  for (auto const& file : *common.files) sizes.emplace(file, size_of(file));
  if (left.begun) common.rest.emplace();
  std::vector<DataPosition> dealt(readers, common);

  std::vector<std::uint64_t> bytes;
  for (auto const& piece : left.pieces) {
    auto const found = sizes.find(piece.name);
    auto const size = found != sizes.end() ? found->second : std::uint64_t{size_of(piece.name)};
    if (piece.file_size > 0 && piece.file_size != size) {
      throw Error(Errc::data_position, piece.name, ", has ", size, " bytes and had ", piece.file_size,
                  " when the position in it was taken: bring the old one back, or start without the position");
    }
    bytes.push_back(detail::bytes_left(piece, size));
  }
  for (auto const& each : positions) {
    for (std::size_t i = 0; i < std::min(each.sizes.size(), each.files->size()); ++i) {
      auto const& name = (*each.files)[i];
      if (each.sizes[i] == 0 || each.sizes[i] == sizes.at(name)) continue;
      throw Error(Errc::data_position, name, ", has ", sizes.at(name), " bytes and had ", each.sizes[i],
                  " when the job was saved: bring the old one back, or start without the positions");
    }
  }
  // The largest first, each to who has least: no reader ends later than the others by more than a piece.
  std::vector<std::size_t> largest(bytes.size());
  std::iota(largest.begin(), largest.end(), std::size_t{0});
  std::ranges::stable_sort(largest, std::ranges::greater{}, [&](std::size_t i) { return bytes[i]; });
  std::vector<std::pair<std::uint64_t, std::size_t>> load(readers);  // bytes, pieces
  std::vector<std::size_t> owner(bytes.size());
  for (auto const i : largest) {
    auto const least = std::ranges::min_element(load);
    owner[i] = static_cast<std::size_t>(least - load.begin());
    least->first += bytes[i];
    ++least->second;
  }
  for (std::size_t i = 0; i < owner.size(); ++i) dealt[owner[i]].rest->push_back(std::move(left.pieces[i]));
  return dealt;
}

}  // namespace prdist
