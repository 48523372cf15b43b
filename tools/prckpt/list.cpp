// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/directory.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "commands.hpp"
#include "common.hpp"

namespace prckpt {

using namespace prdist;

int list(Settings const& settings) {
  auto const names = detail::names_in(folder(settings.from));
  std::size_t complete = 0;
  for (auto const& name : names) {
    if (detail::is_temporary(name)) say(concat(name, "  being written, or left by a save that did not end"));
    if (!detail::pass_of(name)) continue;
    try {
      auto const chain = chain_of(open_checkpoint(concat(settings.from, '/', name)));
      say(concat(summary(chain.back()), ", complete"));
      ++complete;
    } catch (Error const& error) {
      say(concat(name, "  cannot be loaded: ", error.what()));
    }
  }
  if (complete != 0) return 0;
  throw Error(Errc::checkpoint_missing, settings.from,
              ", has no complete checkpoint: save one first, or check the path");
}

}  // namespace prckpt
