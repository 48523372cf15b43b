// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <string>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/directory.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "commands.hpp"
#include "common.hpp"

namespace prckpt {

using namespace prdist;

namespace {

/// Every block is read, also behind a damaged one: how much is lost is what one wants to know.
bool verified(std::string const& path) {
  try {
    auto const checkpoint = open_checkpoint(path);
    std::uint64_t blocks = 0, rows = 0, bytes = 0, damaged = 0;
    Shown shown;
    auto const files = checkpoint.manifest.files();
    for (auto const* const part : files) {
      auto const reader = detail::read_checked(checkpoint, *part);
      RowBlock block;
      bytes += part->bytes;
      for (auto const& entry : reader.blocks()) {
        try {
          reader.read(entry, block);
        } catch (Error const& error) {
          std::fprintf(stderr, "%s\n", error.what());
          ++damaged;
        }
        ++blocks;
        if (entry.kind == BlockKind::rows) rows += entry.count;
        shown(concat(path, '/', part->name), rows);
      }
    }
    (void)chain_of(checkpoint);
    if (damaged == 0) {
      say(concat(path, ": ", files.size(), " parts, ", blocks, " blocks, ", rows, " rows, ", mebibytes(bytes),
                 ", all good"));
      return true;
    }
    say(concat(path, ": ", damaged, " of ", blocks, " blocks are damaged"));
  } catch (Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return false;
}

}  // namespace

int verify_all(Settings const& settings) {
  if (is_pass(folder(settings.from))) return verified(settings.from) ? 0 : exit_code(Errc::checkpoint_damaged);
  auto const passes = passes_in(settings.from);
  if (passes.empty()) {
    throw Error(Errc::checkpoint_missing, settings.from, ", has no checkpoint: check the path");
  }
  bool good = true;
  for (auto const pass : passes) good = verified(concat(settings.from, '/', pass_name(pass))) && good;
  return good ? 0 : exit_code(Errc::checkpoint_damaged);
}

}  // namespace prckpt
