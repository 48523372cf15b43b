// What a checkpoint costs beside a plain write of the same bytes: 10 million rows of 16 floats with Adagrad's state,
// in blocks as a cut hands them out, until all of it is on the disk.
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plain_write.hpp"

namespace {

using namespace prdist;

constexpr std::size_t rows = 10'000'000;
constexpr std::size_t row_bytes = 32 * sizeof(float);
constexpr std::size_t rows_of_block = 16 * 1024;
constexpr std::size_t block_count = (rows + rows_of_block - 1) / rows_of_block;
constexpr std::size_t bytes = block_count * rows_of_block * (sizeof(Key) + row_bytes);

/// Eight blocks that take turns: more than the caches hold, and not the machine's memory.
std::vector<RowBlock> some_blocks() {
  std::vector<RowBlock> blocks(8);
  std::uint64_t seed = 1;
  for (auto& block : blocks) {
    block = {.table = 1, .shard = static_cast<std::uint32_t>(seed % 256), .row_bytes = row_bytes};
    block.keys.resize(rows_of_block);
    for (auto& key : block.keys) key = mix(++seed);
    block.rows.resize(rows_of_block * row_bytes);
    for (std::size_t i = 0; i < block.rows.size(); ++i) block.rows[i] = static_cast<std::byte>(i * 131 >> 3);
  }
  return blocks;
}

void run() {
  bench::DiskFolder const disk;
  auto const& folder = disk.path();
  auto const blocks = some_blocks();
  std::vector<ConstBytes> pieces;
  for (auto const& block : blocks) {
    pieces.push_back(std::as_bytes(std::span(block.keys)));
    pieces.push_back(block.rows);
  }
  auto const part = folder + "/part-000", plain = folder + "/plain";
  auto const write_part = [&] {
    PartWriter writer(folder, 0);
    for (std::size_t i = 0; i < block_count; ++i) writer.write(blocks[i % blocks.size()]);
    return writer.close();
  };
  bench::verify(write_part().bytes >= bytes, "the part is too short");
  std::size_t same = 0;
  PartReader(part).for_each([](auto, auto) { return true; },
                            [&](RowBlock const& block) { same += block == blocks[same % blocks.size()] ? 1 : 0; });
  bench::verify(same == block_count, "the part does not give back what was written");
  std::filesystem::remove(part);

  auto const timed = [](std::string const& path, auto&& work) {
    return [path, work] { return bench::seconds_on_disk(path, work); };
  };
  bench::Rounds("10 M rows, dim 16, Adagrad, to the disk", "byte", static_cast<double>(bytes))
      .add_timed("plain write and fsync", timed(plain, [&] { bench::plain_write(plain, pieces, bytes); }))
      .add_timed("part file", timed(part, [&] { (void)write_part(); }), 0.7)
      // How far two equal ones differ on this disk.
      .add_timed("plain write and fsync again", timed(plain, [&] { bench::plain_write(plain, pieces, bytes); }))
      .run(5, 1, false);
}

bench::Entry const entry{"checkpoint/part_file", run};

}  // namespace
