// SPDX-License-Identifier: Apache-2.0
// Jobs that this prrun runs itself: on this machine, or over ssh.
#pragma once

#include "pipeline.hpp"
#include "submit_flags.hpp"

namespace prrun {

/// Hands over to `prrun --server_num ...`. Returns the exit code.
[[nodiscard]] int submit_local(SubmitFlags const& flags, prdist::gen::Job const& job);

/// Hands over to `prrun --hostfile`, with the current folder as the package unless it is at the hosts already.
/// @throws prdist::Error
[[nodiscard]] int submit_ssh(SubmitFlags const& flags, prdist::gen::Job const& job);

}  // namespace prrun
