// SPDX-License-Identifier: Apache-2.0
// Writes a planted set as PaddleRec reads Criteo: DIR/train/part-000 …, DIR/test/part-000, and what is known of it in
// DIR/meta.json, which is written last and so marks a complete set.
#pragma once

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/data/metrics.hpp>
#include <prdist/data/planted.hpp>

namespace prdist {

struct PlantedOptions {
  std::uint64_t train_rows = 400000;
  std::uint64_t test_rows = 50000;
  std::size_t files = 8;  ///< of training rows; the test rows are one file
  std::uint64_t seed = 1;

  friend bool operator==(PlantedOptions const&, PlantedOptions const&) = default;
};

struct PlantedSummary {
  PlantedOptions options;
  std::uint64_t distinct_train_ids = 0;
  double train_click_rate = 0, test_click_rate = 0;
  double unseen_test_ids = 0;  ///< share of the ids in test rows that no training row has
  double best_auc = 0;         ///< of the planted probabilities on the test rows: no model is better but by luck
  double best_log_loss = 0;    ///< likewise
};

/// Appends the row's line, with its end.
inline void append_line(std::string& out, PlantedRow const& row) {
  out += row.click ? "click:1" : "click:0";
  for (auto const value : row.thousandths) {
    char const digits[] = {static_cast<char>('0' + value / 100), static_cast<char>('0' + value / 10 % 10),
                           static_cast<char>('0' + value % 10)};
    out += " dense_feature:0.";
    out.append(digits, sizeof digits);
  }
  for (std::size_t slot = 0; slot < row.ids.size(); ++slot) {
    out += ' ';
    detail::append(out, slot + 1);
    out += ':';
    detail::append(out, row.ids[slot]);
  }
  out += '\n';
}

namespace detail {

class PlantedWriter {
 public:
  using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

  PlantedWriter(std::filesystem::path directory, PlantedOptions const& options, Progress progress)
      : directory_(std::move(directory)), planted_(options.seed), progress_(std::move(progress)) {
    summary_.options = options;
  }

  PlantedSummary write() {
    auto const& options = summary_.options;
    auto const possible = [](std::uint64_t rows) { return rows >= 1 && rows <= most_rows; };
    if (!possible(options.train_rows) || !possible(options.test_rows) || options.files == 0 ||
        options.files > options.train_rows) {
      throw Error(Errc::config_invalid, "a set of ", options.train_rows, " training rows in ", options.files,
                  " files and ", options.test_rows, " test rows cannot be made: give 1 to ", most_rows,
                  " rows of each kind and no more files than rows");
    }
    prepare();
    for (std::size_t file = 0; file < options.files; ++file) {
      auto const first = options.train_rows * file / options.files;
      write_rows(PlantedSet::train, train_name(file), first, options.train_rows * (file + 1) / options.files);
    }
    write_rows(PlantedSet::test, "test/part-000", 0, options.test_rows);
    finish();
    return summary_;
  }

 private:
  static constexpr std::uint64_t most_rows = 1000000000;  // half a terabyte; more is a slip of the pen

  static std::string train_name(std::size_t file) {
    auto const number = concat(file);
    return concat("train/part-", std::string(number.size() < 3 ? 3 - number.size() : 0, '0'), number);
  }

  /// Files of another set beside this one would be read as part of it. Removing them is not ours to decide.
  void prepare() {
    std::set<std::string> ours{"test/part-000"};
    for (std::size_t file = 0; file < summary_.options.files; ++file) ours.insert(train_name(file));
    for (auto const* const set : {"train", "test"}) {
      auto const path = directory_ / set;
      std::error_code failed;
      std::filesystem::create_directories(path, failed);
      if (failed) fail(path, "cannot be made", failed);
      for (std::filesystem::directory_iterator entry(path, failed); !failed && entry != decltype(entry)();
           entry.increment(failed)) {
        auto const name = concat(set, '/', entry->path().filename().native());
        if (!ours.contains(name)) {
          throw Error(Errc::data_file, (directory_ / name).native(),
                      ", is there and not part of the set to be written: remove it or choose another directory");
        }
      }
      if (failed) fail(path, "cannot be listed", failed);
    }
    std::error_code failed;
    std::filesystem::remove(directory_ / "meta.json", failed);
    if (failed) fail(directory_ / "meta.json", "cannot be replaced", failed);
  }

  void write_rows(PlantedSet set, std::string const& name, std::uint64_t first, std::uint64_t end) {
    constexpr std::size_t flush_at = std::size_t{1} << 20;
    auto const path = directory_ / name;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    std::string text;
    for (auto index = first; index < end; ++index) {
      auto const row = planted_.row(set, index);
      append_line(text, row);
      count(set, row);
      if (text.size() >= flush_at || index + 1 == end) {
        file.write(text.data(), static_cast<std::streamsize>(text.size()));
        text.clear();
        auto const done = index + 1 + (set == PlantedSet::test ? summary_.options.train_rows : 0);
        if (progress_) progress_(done, summary_.options.train_rows + summary_.options.test_rows);
      }
    }
    file.close();
    if (!file) fail(path, "cannot be written", std::error_code(errno, std::generic_category()));
  }

  void count(PlantedSet set, PlantedRow const& row) {
    if (set == PlantedSet::train) {
      train_clicks_ += row.click ? 1 : 0;
      for (auto const id : row.ids) {
        summary_.distinct_train_ids += seen_[id] ? 0 : 1;
        seen_[id] = true;
      }
    } else {
      labels_.push_back(row.click ? 1.0F : 0.0F);
      probabilities_.push_back(static_cast<float>(row.probability));
      for (auto const id : row.ids) unseen_ += seen_[id] ? 0 : 1;
    }
  }

  void finish() {
    auto const& options = summary_.options;
    // Six digits: what follows is left to the libraries' logarithms.
    auto const rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
    auto const rate = [&](auto part, auto whole) {
      return rounded(static_cast<double>(part) / static_cast<double>(whole));
    };
    double test_clicks = 0;
    for (auto const label : labels_) test_clicks += static_cast<double>(label);
    summary_.train_click_rate = rate(train_clicks_, options.train_rows);
    summary_.test_click_rate = rate(test_clicks, options.test_rows);
    summary_.unseen_test_ids = rate(unseen_, options.test_rows * Planted::slots);
    summary_.best_auc = rounded(auc(labels_, probabilities_));
    summary_.best_log_loss = rounded(log_loss(labels_, probabilities_));

    auto const path = directory_ / "meta.json";
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    // By hand: names are ours and need no quoting, and JSON writers print 0.87 as 8.7E-1, which people do not read.
    file << "{\n  \"format\": \"criteo-slots\"";
    auto const put = [&](char const* name, auto const& value) { file << ",\n  \"" << name << "\": " << concat(value); };
    put("seed", options.seed);
    put("train_rows", options.train_rows);
    put("test_rows", options.test_rows);
    put("files", options.files);
    put("slots", Planted::slots);
    put("dense_features", Planted::dense_dim);
    put("distinct_train_ids", summary_.distinct_train_ids);
    put("train_click_rate", summary_.train_click_rate);
    put("test_click_rate", summary_.test_click_rate);
    put("unseen_test_ids", summary_.unseen_test_ids);
    put("best_auc", summary_.best_auc);
    put("best_log_loss", summary_.best_log_loss);
    file << "\n}\n";
    file.close();
    if (!file) fail(path, "cannot be written", std::error_code(errno, std::generic_category()));
  }

  [[noreturn]] static void fail(std::filesystem::path const& path, std::string_view what, std::error_code why) {
    throw Error(Errc::data_file, path.native(), ", ", what, ", ", why.message(),
                ": check the path, its permissions and the free space");
  }

  std::filesystem::path directory_;
  Planted planted_;
  Progress progress_;
  PlantedSummary summary_;
  std::vector<bool> seen_ = std::vector<bool>(1000001);
  std::vector<float> labels_, probabilities_;
  std::uint64_t train_clicks_ = 0, unseen_ = 0;
};

}  // namespace detail

/// Writes the set below `directory`, which is made when it is not there. Its bytes depend on the options alone;
/// the rows do not depend on how many files they are spread over. `progress` is called about once per megabyte.
/// @throws Error config.invalid for impossible options; data.file when a path cannot be written or holds files of
/// another set
inline PlantedSummary write_planted(std::filesystem::path const& directory, PlantedOptions const& options = {},
                                    std::function<void(std::uint64_t done, std::uint64_t of)> progress = {}) {
  return detail::PlantedWriter(directory, options, std::move(progress)).write();
}

}  // namespace prdist
