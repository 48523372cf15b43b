// SPDX-License-Identifier: Apache-2.0
// What a user includes: Fleet with every choice that needs nothing but a CPU. Device<Cuda> has its own header.
#pragma once

#include <prdist/core/stop_signal.hpp>
#include <prdist/device/cpu.hpp>
#include <prdist/fleet/fleet.hpp>
#include <prdist/fleet/run_main.hpp>
#include <prdist/strategy/by_name.hpp>
#include <prdist/transport/beast.hpp>
#include <prdist/transport/memory.hpp>
#include <prdist/transport/tcp.hpp>
