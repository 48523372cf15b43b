// SPDX-License-Identifier: Apache-2.0
// Reading training data and judging what was learned from it.
#pragma once

#include <prdist/data/batch.hpp>
#include <prdist/data/deal.hpp>
#include <prdist/data/metrics.hpp>
#include <prdist/data/npy.hpp>
#include <prdist/data/position.hpp>
#include <prdist/data/slot_reader.hpp>
#include <prdist/data/split_files.hpp>
