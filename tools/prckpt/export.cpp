// SPDX-License-Identifier: Apache-2.0
#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/export_npz.hpp>
#include <prdist/core/text.hpp>

#include "commands.hpp"
#include "common.hpp"

namespace prckpt {

using namespace prdist;

int export_model(Settings const& settings) {
  auto const chain = chain_of(chosen(settings.from));
  export_npz(chain, settings.to);
  say(concat(settings.to, ": ", chain.back().path, ", step ", chain.back().manifest.step));
  return 0;
}

}  // namespace prckpt
