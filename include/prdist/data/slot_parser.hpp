// SPDX-License-Identifier: Apache-2.0
// One line of slot text into a batch. Strict: a line is taken whole or not at all, and what is wrong with it is
// told by field. The order of fields is guessed from the line before, so that a name costs one comparison.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/data/batch.hpp>
#include <prdist/data/slot_format.hpp>

namespace prdist {

/// Why a line was refused. `field` counts from 1; 0 means the line as a whole.
struct LineFault {
  std::size_t field = 0;
  std::string_view text;
  std::string what;
};

class SlotParser {
 public:
  /// A sparse slot that a line does not name gets the one id `padding`, as PaddleRec pads; that id is looked up and
  /// trained like any other. Without padding the slot stays empty, and pools to zeros. A dense slot that a line
  /// does not name is all zeros.
  explicit SlotParser(SlotFormat const& format, std::optional<Key> padding = 0)
      : slots_(format.sparse.size()), dense_dim_(format.dense_dim()), padding_(padding), missing_(slots_) {
    auto const add = [this](std::string const& name, Kind kind, std::size_t index) {
      targets_.push_back({concat(name, ':'), kind, index});
    };
    add(format.label, Kind::label, 0);
    for (auto const& slot : format.dense) {
      add(slot.name, Kind::dense, dense_.size());
      dense_.push_back({slot.dim, dense_.empty() ? 0 : dense_.back().first + dense_.back().dim, 0});
    }
    for (auto const& name : format.sparse) add(name, Kind::sparse, targets_.size() - 1 - dense_.size());
    for (std::uint32_t i = 0; i < targets_.size(); ++i) by_name_.push_back(i);
    std::ranges::sort(by_name_, {}, [this](std::uint32_t i) { return std::string_view(targets_[i].prefix); });
  }

  /// Gives an empty batch the shape of this format.
  void shape(Batch& batch) const {
    batch.clear();
    batch.slots = slots_;
    batch.dense_dim = dense_dim_;
  }

  /// Appends the example to `batch`, or leaves it as it was and says why.
  [[nodiscard]] std::optional<LineFault> parse(std::string_view line, Batch& batch) {
    auto fault = read_fields(line, batch);
    if (fault) {
      batch.dense.resize(batch.labels.size() * dense_dim_);
    } else {
      batch.labels.push_back(label_);
      append_keys(batch);
    }
    return fault;
  }

  /// How many lines did not name sparse slot i.
  [[nodiscard]] std::vector<std::uint64_t> const& missing() const noexcept { return missing_; }

 private:
  enum class Kind : std::uint8_t { label, dense, sparse };
  struct Target {
    std::string prefix;  // the name and its colon
    Kind kind;
    std::size_t index;
  };
  struct Dense {
    std::size_t dim, first, seen;
  };
  struct Entry {
    std::size_t slot;
    Key key;
  };
  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

  static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

  std::optional<LineFault> read_fields(std::string_view line, Batch& batch) {
    entries_.clear();
    bool labelled = false;
    for (auto& slot : dense_) slot.seen = 0;
    batch.dense.resize(batch.dense.size() + dense_dim_);
    float* const features = batch.dense.data() + batch.dense.size() - dense_dim_;

    char const* at = line.data();
    char const* const end = at + line.size();
    for (std::size_t field = 0;; ++field) {
      while (at != end && is_blank(*at)) ++at;
      if (at == end) break;
      auto const refuse = [&](std::string what) {
        auto const* const stop = std::find_if(at, end, is_blank);
        return LineFault{field + 1, {at, static_cast<std::size_t>(stop - at)}, std::move(what)};
      };
      auto const target = target_of(at, end, field);
      if (target == unknown) {
        auto const* const stop = std::find_if(at, end, is_blank);
        if (std::find(at, stop, ':') == stop) return refuse("not name:value");
        at = stop;
        continue;
      }
      auto const& [prefix, kind, index] = targets_[target];
      char const* const value = at + prefix.size();
      std::from_chars_result read{};
      if (kind == Kind::sparse) {
        Key key = 0;
        read = std::from_chars(value, end, key);
        entries_.push_back({index, key});
      } else {
        // Read as double: a float too small to hold is 0 and no fault.
        double number = 0;
        read = std::from_chars(value, end, number);
        auto const narrow = static_cast<float>(number);
        if (read.ec == std::errc{} && !std::isfinite(narrow)) return refuse("not a finite number");
        if (kind == Kind::label) {
          if (labelled) return refuse("a second label");
          if (read.ec == std::errc{} && narrow != 0 && narrow != 1) return refuse("a label is 0 or 1");
          labelled = true;
          label_ = narrow;
        } else {
          auto& slot = dense_[index];
          if (slot.seen == slot.dim) return refuse(concat("more than the ", slot.dim, " values of its slot"));
          features[slot.first + slot.seen++] = narrow;
        }
      }
      if (read.ec == std::errc::result_out_of_range) return refuse("out of range");
      if (read.ec != std::errc{} || (read.ptr != end && !is_blank(*read.ptr))) {
        return refuse(kind == Kind::sparse ? "not an id, a whole number from 0 to 2^64 - 1" : "not a number");
      }
      at = read.ptr;
    }

    if (!labelled) return whole(concat("no label '", name_of(targets_.front()), "'"));
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      auto const& slot = dense_[i];
      if (slot.seen != 0 && slot.seen != slot.dim) {
        return whole(concat(slot.seen, " of the ", slot.dim, " values of '", name_of(targets_[1 + i]), "'"));
      }
    }
    return std::nullopt;
  }

  void append_keys(Batch& batch) {
    auto const by_slot = [](Entry const& a, Entry const& b) { return a.slot < b.slot; };
    // Stable: several ids of one slot keep the order of the line.
    if (!std::is_sorted(entries_.begin(), entries_.end(), by_slot)) {
      std::stable_sort(entries_.begin(), entries_.end(), by_slot);
    }
    auto entry = entries_.begin();
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      if (entry == entries_.end() || entry->slot != slot) {
        ++missing_[slot];
        if (padding_) batch.keys.push_back(*padding_);
      }
      for (; entry != entries_.end() && entry->slot == slot; ++entry) batch.keys.push_back(entry->key);
      batch.end_slot();
    }
  }

  /// Whose field begins at `at`; the answer for this position is remembered for the next line.
  std::uint32_t target_of(char const* at, char const* end, std::size_t field) {
    auto const rest = static_cast<std::size_t>(end - at);
    if (field < guesses_.size() && guesses_[field] != unknown) {
      auto const& prefix = targets_[guesses_[field]].prefix;
      if (prefix.size() <= rest && std::memcmp(at, prefix.data(), prefix.size()) == 0) return guesses_[field];
    }
    auto const* const stop = std::find_if(at, end, [](char c) { return c == ':' || is_blank(c); });
    auto found = unknown;
    if (stop != end && *stop == ':') {
      std::string_view const prefix(at, static_cast<std::size_t>(stop - at) + 1);
      auto const place = std::ranges::lower_bound(
          by_name_, prefix, {}, [this](std::uint32_t i) { return std::string_view(targets_[i].prefix); });
      if (place != by_name_.end() && targets_[*place].prefix == prefix) found = *place;
    }
    // A line of a million fields must not make the memory of guesses as long.
    if (field < max_guesses) {
      if (field >= guesses_.size()) guesses_.resize(field + 1, unknown);
      guesses_[field] = found;
    }
    return found;
  }

  static LineFault whole(std::string what) { return {0, {}, std::move(what)}; }

  static std::string_view name_of(Target const& target) {
    return std::string_view(target.prefix).substr(0, target.prefix.size() - 1);
  }

  static constexpr std::size_t max_guesses = 4096;

  std::size_t slots_, dense_dim_;
  std::optional<Key> padding_;
  std::vector<Target> targets_;
  std::vector<std::uint32_t> by_name_, guesses_;
  std::vector<Dense> dense_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> missing_;
  float label_ = 0;
};

}  // namespace prdist
