// What a checkpoint costs beside a plain write of the same bytes: 10 million rows of 16 floats with Adagrad's state,
// in blocks as a cut hands them out, until all of it is on the disk.
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"

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

void plain_write(std::string const& path, std::vector<RowBlock> const& blocks) {
  Descriptor const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  bool fine = static_cast<bool>(file);
  auto const put = [&](void const* data, std::size_t size) {
    for (auto const* at = static_cast<char const*>(data); fine && size > 0;) {
      auto const written = ::write(file.get(), at, size);
      fine = written > 0;
      at += fine ? written : 0;
      size -= fine ? static_cast<std::size_t>(written) : 0;
    }
  };
  for (std::size_t i = 0; fine && i < block_count; ++i) {
    auto const& block = blocks[i % blocks.size()];
    put(block.keys.data(), block.keys.size() * sizeof(Key));
    put(block.rows.data(), block.rows.size());
  }
  bench::verify(fine && ::fsync(file.get()) == 0, "the plain file could not be written");
}

void run() {
  // The disk that will hold checkpoints, by TMPDIR when it is not the one of temporary files.
  auto folder = (std::filesystem::temp_directory_path() / "prbench-XXXXXX").native();
  bench::verify(::mkdtemp(folder.data()) != nullptr, "no temporary folder");
  std::shared_ptr<void> const cleanup(nullptr, [folder](void*) { std::filesystem::remove_all(folder); });
  auto const blocks = some_blocks();
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

  // Each begins without its file: freeing that of the last round is nobody's work.
  auto const timed = [](std::string const& path, auto&& work) {
    return [path, work] {
      std::filesystem::remove(path);
      ::sync();
      auto const start = ankerl::nanobench::Clock::now();
      work();
      auto const end = ankerl::nanobench::Clock::now();
      std::filesystem::remove(path);
      return std::chrono::duration<double>(end - start).count();
    };
  };
  bench::Rounds("10 M rows, dim 16, Adagrad, to the disk", "byte", static_cast<double>(bytes))
      .add_timed("plain write and fsync", timed(plain, [&] { plain_write(plain, blocks); }))
      .add_timed("part file", timed(part, [&] { (void)write_part(); }), 0.7)
      // How far two equal ones differ on this disk.
      .add_timed("plain write and fsync again", timed(plain, [&] { plain_write(plain, blocks); }))
      .run(5, 1, false);
}

bench::Entry const entry{"checkpoint/part_file", run};

}  // namespace
