// SPDX-License-Identifier: Apache-2.0
// A sparse table in Paddle's text layout, as fleet.save_persistables writes it: a file part-<server>-<shard>[.gz] per
// shard, a line per row: key, slot, unseen_days, delta_score, show, click, embed_w and its state, embedx_w and its
// state. Rows stream through one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/checkpoint/paddle_text.hpp>
#include <prdist/checkpoint/temporary.hpp>
#include <prdist/checkpoint/text_writer.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

/// Paddle's update rules by the state they keep. `adagrad` is AdaGrad and AdaGradV2, with one sum for all elements;
/// `adam` keeps m and v of each element, then beta1 and beta2 to the power of the step.
enum class PaddleRule : std::uint8_t { naive, adagrad, std_adagrad, adam, shared_adam };

[[nodiscard]] constexpr std::size_t state_floats(PaddleRule rule, std::size_t dim) noexcept {
  switch (rule) {
    case PaddleRule::naive: return 0;
    case PaddleRule::adagrad: return 1;
    case PaddleRule::std_adagrad: return dim;
    case PaddleRule::adam: return 2 * dim + 2;
    case PaddleRule::shared_adam: return 4;
  }
  return 0;
}

/// Of a table of dimension D, embedx_dim is D - 1 with SparseAccessor (the default) and D - 3 with CtrCommonAccessor.
struct PaddleLayout {
  std::size_t embedx_dim = 8;
  PaddleRule embed = PaddleRule::adam;
  PaddleRule embedx = PaddleRule::adam;
};

struct PaddleRow {
  Key key = 0;
  float slot = 0;
  float unseen_days = 0;
  float delta_score = 0;
  float show = 0;
  float click = 0;
  float embed_w = 0;
  std::vector<float> embed_state{};
  std::vector<float> embedx_w{};  ///< empty, with its state, while the row's score is below embedx_threshold
  std::vector<float> embedx_state{};

  friend bool operator==(PaddleRow const&, PaddleRow const&) = default;
};

/// Calls take(PaddleRow const&) for every row of the table in `folder` (`<dir>/000`), shard by shard. All shards must
/// be there: they are numbered from 0.
/// @throws Error data.file for a missing or damaged file, data.line with file and line for a bad row
template <class Take>
void read_paddle_sparse(std::string const& folder, PaddleLayout const& layout, Take&& take) {
  std::map<std::uint32_t, std::string> shards;
  for (auto const& name : detail::names_in(folder)) {
    auto const parsed = detail::paddle_file_name(name);
    if (!parsed || !parsed->shard) continue;
    if (!shards.emplace(*parsed->shard, concat(folder, '/', name)).second) {
      throw Error(Errc::data_file, folder, '/', name, ", shard ", *parsed->shard,
                  " has two files, so two saves are mixed: remove the older one");
    }
  }
  if (shards.empty() || shards.rbegin()->first + 1 != shards.size()) {
    throw Error(Errc::data_file, folder, ", has ", shards.size(), " files part-<server>-<shard>, ",
                shards.empty() ? "so it is no sparse table" : concat("the last of shard ", shards.rbegin()->first),
                ": check the path, and copy every shard");
  }
  auto const embed_state = state_floats(layout.embed, 1);
  auto const embedx_state = state_floats(layout.embedx, layout.embedx_dim);
  LineReader lines(64 * (8 + embed_state + layout.embedx_dim + embedx_state));
  PaddleRow row;
  for (auto const& [shard, path] : shards) {
    lines.open_file(path);
    for (Line line; lines.next(line);) {
      detail::PaddleFields fields(path, line);
      auto const read = [&](std::vector<float>& into, std::size_t count) {
        into.resize(count);
        for (auto& value : into) value = fields.next<float>();
      };
      if (!fields.more()) continue;
      row.key = fields.next<Key>();
      if (row.key % shards.size() != shard) {
        fields.fail(concat("has key ", row.key, ", which shard ", shard, " of ", shards.size(),
                           " does not hold: are the last shards missing?"));
      }
      for (auto* const value : {&row.slot, &row.unseen_days, &row.delta_score, &row.show, &row.click, &row.embed_w}) {
        *value = fields.next<float>();
      }
      read(row.embed_state, embed_state);
      auto const whole = fields.more();
      read(row.embedx_w, whole ? layout.embedx_dim : 0);
      read(row.embedx_state, whole ? embedx_state : 0);
      if (fields.more()) {
        fields.fail(
            concat("has more than the ", 7 + embed_state + layout.embedx_dim + embedx_state, " fields of this layout"));
      }
      take(std::as_const(row));
    }
  }
}

/// Writes a table that Paddle loads with the same shard_num, on any number of servers. Numbers have as many digits as
/// they need to be read back the same.
class PaddleSparseWriter {
 public:
  /// `folder` gets its name by close(). @throws Error checkpoint.file; config.invalid without shards or servers
  PaddleSparseWriter(std::string folder, std::uint32_t shards, std::uint32_t servers, bool packed = true)
      : folder_(checked(std::move(folder), shards, servers)) {
    auto const each = (shards + servers - 1) / servers;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      auto number = concat(shard);
      number.insert(0, number.size() < 5 ? 5 - number.size() : 0, '0');
      files_.emplace_back(concat(folder_.path(), '/', part_name(shard / each), '-', number, packed ? ".gz" : ""));
    }
  }

  /// @throws Error checkpoint.file
  void write(PaddleRow const& row) {
    text_ = concat(row.key);
    for (auto const value : {row.slot, row.unseen_days, row.delta_score, row.show, row.click, row.embed_w}) add(value);
    for (auto const* const values : {&row.embed_state, &row.embedx_w, &row.embedx_state}) {
      for (auto const value : *values) add(value);
    }
    text_ += '\n';
    files_[row.key % files_.size()].write(text_);
  }

  /// Waits for the disk and gives the folder its name. @throws Error checkpoint.file
  void close() {
    for (auto& file : files_) file.close();
    folder_.finish();
  }

 private:
  static std::string checked(std::string folder, std::uint32_t shards, std::uint32_t servers) {
    if (shards == 0 || servers == 0) {
      throw Error(Errc::config_invalid, folder, ", ", shards, " shards on ", servers,
                  " servers: give at least one of each, as in the job that will load it");
    }
    if (shards > most_shards) {
      throw Error(Errc::config_invalid, folder, ", ", shards, " shards, each a file, and there may be ", most_shards,
                  ": give the shard_num of the job that will load it, which is 1000 where nobody has set it");
    }
    return folder;
  }
  void add(float value) {
    text_ += ' ';
    detail::append(text_, value);
  }

  /// Each is a file, with a piece of it in memory.
  static constexpr std::uint32_t most_shards = 10000;

  detail::NewFolder folder_;
  std::vector<TextWriter> files_;
  std::string text_;
};

}  // namespace prdist
