// SPDX-License-Identifier: Apache-2.0
// Batches of slot text files:
//
//   SlotReader reader(expand_files("train/part-*").value(), {.batch_size = 512});
//   for (auto const& batch : reader) trainer.step(batch);     // one epoch; again for the next
//
// A batch may take rows from two files; only the last one of an epoch may be short. Between two batches position()
// says where the reader stands, and resume() goes on from there, in another process too, or in several (data/deal.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/escaped.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/log.hpp>
#include <prdist/data/batch.hpp>
#include <prdist/data/epoch_order.hpp>
#include <prdist/data/line_reader.hpp>
#include <prdist/data/position.hpp>
#include <prdist/data/slot_format.hpp>
#include <prdist/data/slot_parser.hpp>

namespace prdist {

struct SlotReaderOptions {
  SlotFormat format = {};
  std::size_t batch_size = 512;
  std::optional<Key> padding = 0;                        ///< see SlotParser
  bool skip_broken_lines = false;                        ///< count and go on, instead of throwing
  std::optional<std::uint64_t> shuffle = {};             ///< a seed: files, and the rows of each, in random order
  std::size_t longest_line = LineReader::default_limit;  ///< bytes; a longer line is a broken one
};

class SlotReader {
 public:
  /// Counts of the epoch that is being read. Empty lines are neither rows nor skipped.
  struct Counts {
    std::uint64_t rows = 0;
    std::uint64_t skipped = 0;
    std::string first_skipped;  ///< the error that the first skipped line would have thrown
  };

  /// Opens nothing yet. @throws Error config.invalid when batch_size is 0
  explicit SlotReader(std::vector<std::string> files, SlotReaderOptions options = {})
      : files_(std::move(files)),
        options_(std::move(options)),
        parser_(options_.format, options_.padding),
        lines_(options_.longest_line) {
    if (options_.batch_size == 0) throw Error(Errc::config_invalid, "batch_size is 0: give at least 1");
    start_epoch(0);
  }

  /// Goes back to the beginning. The order of a shuffled epoch depends on the seed, the number of the epoch and the
  /// list of files alone. Shuffling holds one file at a time in memory, parsed.
  void start_epoch(std::uint64_t epoch) {
    epoch_ = epoch;
    counts_ = {};
    parser_ = SlotParser(options_.format, options_.padding);
    lines_.close();
    opened_ = 0;
    parser_.shape(file_rows_);
    order_.clear();
    taken_ = 0;
    file_order_ = file_order(files_.size(), options_.shuffle, epoch_);
    rest_.reset();
    finished_ = false;
    resumed_ = false;
  }

  /// Where the rows of the next batch begin. It costs as much as a copy of the files' names; the first time, a look at
  /// every file's size as well.
  [[nodiscard]] DataPosition position() const {
    DataPosition at{.epoch = epoch_, .rows = counts_.rows, .skipped = counts_.skipped, .source = source()};
    at.files = files_;
    at.sizes = sizes();
    at.shuffle = options_.shuffle;
    auto const fill = [&](auto& place) {
      place.name = lines_.path();
      place.file_size = lines_.file_size();
      place.offset = options_.shuffle ? 0 : lines_.offset();
      place.line = options_.shuffle ? 0 : lines_.lines();
      place.taken = taken_;
    };
    if (rest_) {
      auto const first = static_cast<std::ptrdiff_t>(opened_ - (opened_ > 0 && !finished_ ? 1 : 0));
      at.rest.emplace(rest_->begin() + first, rest_->end());
      if (opened_ > 0 && !finished_) fill(at.rest->front());
    } else if (opened_ > 0) {
      at.file = opened_;
      fill(at);
    }
    return at;
  }

  /// Goes to where a reader of the same files stood, or to what deal() gave: what comes next is exactly what was not
  /// delivered. The size of batches may differ. The loop over this reader that begins next finishes the epoch.
  /// @throws Error data.position when the files are not the same any more, or it is in a pipe; data.file when one
  /// cannot be read
  void resume(DataPosition const& at) {
    start_epoch(at.epoch);
    next_epoch_ = at.epoch + 1;
    check_source(at);
    if (at.file > files_.size() || (at.file > 0 && name_of_begun(at.file) != at.name)) {
      throw Error(Errc::data_position, "file ", at.file, " of the data is not '", at.name,
                  "': the position is damaged, start without it");
    }
    counts_.rows = at.rows;
    counts_.skipped = at.skipped;
    if (at.skipped > 0) counts_.first_skipped = "(it came before the run was resumed)";
    resumed_ = true;
    rest_ = at.rest;
    if (rest_ || at.file == 0) return;
    opened_ = at.file;
    open({at.epoch, at.name, at.file, at.file_size, at.offset, at.line, at.taken});
  }

  /// Fills `batch` with the next rows; false, and an empty batch, at the end of the epoch. After an error the
  /// epoch cannot be continued, only started again.
  /// @throws Error data.line with file, line and field, unless broken lines are skipped; data.file when a file
  /// cannot be read
  [[nodiscard]] bool next(Batch& batch) {
    parser_.shape(batch);
    while (batch.size() < options_.batch_size && !finished_) {
      if (options_.shuffle) {
        take_shuffled(batch);
      } else {
        take_line(batch);
      }
    }
    counts_.rows += batch.size();
    if (batch.empty() && !told_ && !rest_) tell();
    return !batch.empty();
  }

  [[nodiscard]] Counts const& counts() const noexcept { return counts_; }
  [[nodiscard]] std::vector<std::string> const& files() const noexcept { return files_; }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(SlotReader* reader) : reader_(reader) { ++*this; }
    Batch const& operator*() const { return reader_->current_; }
    Iterator& operator++() {
      if (!reader_->next(reader_->current_)) reader_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(Iterator const& it, std::default_sentinel_t) { return it.reader_ == nullptr; }

   private:
    SlotReader* reader_;
  };

  /// Starts the first epoch, then with every further call the next one; after resume() goes on. The batch is the
  /// reader's own and is overwritten by the next step.
  [[nodiscard]] Iterator begin() {
    if (!std::exchange(resumed_, false)) start_epoch(next_epoch_++);
    return Iterator(this);
  }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  /// Of all files, as they were when they were first asked for.
  [[nodiscard]] std::vector<std::uint64_t> const& sizes() const {
    for (auto next = sizes_.size(); next < files_.size(); ++next) {
      std::error_code failed;
      auto const size = std::filesystem::file_size(files_[next], failed);
      sizes_.push_back(failed ? 0 : size);  // a pipe has none; what is missing is told when it is to be read
    }
    return sizes_;
  }

  /// The next file in this epoch's order, or false.
  [[nodiscard]] bool open_next() {
    if (opened_ == (rest_ ? rest_->size() : files_.size())) return false;
    ++opened_;
    open(rest_ ? (*rest_)[opened_ - 1] : DataPiece{.epoch = epoch_, .name = name_of_begun(opened_), .number = opened_});
    return true;
  }

  /// Opens a file and goes to where its rows begin that are not done.
  void open(DataPiece const& piece) {
    bool const begun = piece.file_size > 0;
    // What has no size is a pipe; an empty file has nothing to begin. Before it is opened, which might wait for a
    // writer.
    if (!begun && (piece.offset > 0 || piece.taken > 0)) {
      throw Error(Errc::data_position, piece.name,
                  ", was begun and is a pipe, which cannot be read again: give its rows as a file, or start without "
                  "the position");
    }
    lines_.open(piece.name);
    if (begun && lines_.file_size() != piece.file_size) {
      throw Error(Errc::data_position, piece.name, ", has ", lines_.file_size(), " bytes and had ", piece.file_size,
                  " when the position in it was taken: bring the old one back, or start without the position");
    }
    if (!options_.shuffle) {
      if (begun) lines_.seek(piece.offset, piece.line);
      return;
    }
    auto const counted = counts_;
    read_rows();
    order_ = row_order(file_rows_.size(), *options_.shuffle, piece.epoch, piece.number);
    taken_ = 0;
    if (!begun) return;
    counts_ = counted;  // the file's broken lines are in the position already
    if (piece.taken > order_.size()) {
      throw Error(Errc::data_position, piece.name, ", has ", order_.size(), " rows and ", piece.taken,
                  " were taken from it: bring the old one back, or start without the position");
    }
    taken_ = piece.taken;
  }

  /// The name of the n-th file in this epoch's order, from 1.
  [[nodiscard]] std::string const& name_of_begun(std::uint64_t n) const { return files_[file_order_[n - 1]]; }

  /// Whether this reader's files are those that the position is about. @throws Error data.position
  void check_source(DataPosition const& at) const {
    // What was dealt out knows the files of all readers: these are some of them.
    bool const dealt = at.source == 0 && at.files;
    if (dealt && at.shuffle == options_.shuffle) {
      auto const known = [&](std::string const& file) { return std::ranges::binary_search(*at.files, file); };
      auto const strange = std::ranges::find_if_not(files_, known);
      if (strange == files_.end()) return;
      throw Error(Errc::data_position, *strange, " is not one of the ", at.files->size(),
                  " files of the job that was stopped: give the same files, or start without the position");
    }
    if (dealt || at.source != source()) {
      auto const there = at.name.empty() ? std::string() : concat(" in '", at.name, "'");
      if (at.shuffle != options_.shuffle) {
        throw Error(Errc::data_position, "the data have another shuffle seed than when the position", there,
                    " was taken: give the same seed, or start without the position");
      }
      throw Error(Errc::data_position, "the data, ", files_.size(),
                  " files now, are another list than when the position", there,
                  " was taken: give the same files, by the same paths, or start without the position");
    }
    // Of the same list: no row is to be missed or trained twice, in files that are not begun either. (That which is, is
    // looked at when it is opened.)
    auto const& now = sizes();
    for (std::size_t i = 0; i < std::min(now.size(), at.sizes.size()); ++i) {
      if (at.sizes[i] == 0 || now[i] == 0 || at.sizes[i] == now[i] || files_[i] == at.name) continue;
      throw Error(Errc::data_position, files_[i], ", has ", now[i], " bytes and had ", at.sizes[i],
                  " when the job was stopped: bring back what it was, or start without the position");
    }
  }

  /// A number for the list of files and their order.
  [[nodiscard]] std::uint64_t source() const {
    auto hash = options_.shuffle ? mix(*options_.shuffle + 1) : 0;
    for (auto const& file : files_) hash = mix(hash + hash_name(file));
    return hash;
  }

  /// One line of the open file into `batch`; opens the next file behind the last line.
  void take_line(Batch& batch) {
    Line line;
    if (!lines_.next(line)) {
      finished_ = !open_next();
      return;
    }
    add_line(line, batch);
  }

  void add_line(Line const& line, Batch& batch) {
    auto text = line.text;
    if (line.number == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
    if (text.find_first_not_of(" \t") == std::string_view::npos && !line.cut) return;
    std::optional<LineFault> fault;
    if (line.cut) {
      fault = LineFault{0, {}, concat("longer than ", options_.longest_line, " bytes")};
    } else if (std::memchr(text.data(), 0, text.size()) != nullptr) {
      fault = LineFault{0, {}, "holds a NUL byte, so the file is binary or damaged"};
    } else {
      fault = parser_.parse(text, batch);
    }
    if (fault) refuse(line, *fault);
  }

  void refuse(Line const& line, LineFault const& fault) {
    auto const where = fault.field == 0 ? std::string() : concat(", field ", fault.field, " '", shown(fault.text), "'");
    Error error(Errc::data_line, lines_.path(), ':', line.number, where, ": ", fault.what,
                ": mend the line, or set skip_broken_lines");
    if (!options_.skip_broken_lines) throw error;
    if (counts_.skipped++ == 0) counts_.first_skipped = error.what();
  }

  /// At most 48 bytes of a field.
  [[nodiscard]] static std::string shown(std::string_view text) {
    constexpr std::size_t most = 48;
    return concat(escaped(text.substr(0, most)), text.size() > most ? "..." : "");
  }

  void take_shuffled(Batch& batch) {
    while (taken_ == order_.size()) {
      if (!open_next()) {
        finished_ = true;
        return;
      }
    }
    batch.append(file_rows_, order_[taken_++]);
  }

  /// All rows of the open file, to be handed out in another order.
  void read_rows() {
    parser_.shape(file_rows_);
    for (Line line; lines_.next(line);) {
      add_line(line, file_rows_);
      if (file_rows_.keys.size() > max_keys_in_memory) {
        throw Error(Errc::data_file, lines_.path(), ", too large to be shuffled in memory: split it into more files");
      }
    }
  }

  /// Once per reader, at the end of its first epoch: what a reader of logs should know about the data.
  void tell() {
    told_ = true;
    if (counts_.skipped > 0) {
      log(Level::warning, counts_.skipped, " broken lines skipped beside ", counts_.rows,
          " rows; the first: ", counts_.first_skipped);
    }
    if (counts_.rows == 0) {
      log(Level::warning, "no row in ", files_.size(), " files");
      return;
    }
    for (std::size_t slot = 0; slot < parser_.missing().size(); ++slot) {
      if (parser_.missing()[slot] >= counts_.rows) {
        log(Level::warning, "slot '", options_.format.sparse[slot], "' stands in no line: is its name right?");
      }
    }
  }

  // Batch counts keys in 32 bits.
  static constexpr std::size_t max_keys_in_memory = 0xf0000000U;

  std::vector<std::string> files_;
  mutable std::vector<std::uint64_t> sizes_;
  SlotReaderOptions options_;
  SlotParser parser_;
  LineReader lines_;
  Batch current_;

  std::uint64_t epoch_ = 0, next_epoch_ = 0;
  std::vector<std::uint32_t> file_order_;
  std::optional<std::vector<DataPiece>> rest_;  // dealt: read instead of the epoch's files
  std::size_t opened_ = 0;
  bool finished_ = false, told_ = false, resumed_ = false;
  Batch file_rows_;  // shuffling only: the file being handed out, and the order of its rows
  std::vector<std::uint32_t> order_;
  std::size_t taken_ = 0;
  Counts counts_;
};

}  // namespace prdist
