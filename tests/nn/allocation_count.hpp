// Counts what operator new is asked for by this thread.
#pragma once

#include <cstddef>

std::size_t allocations_so_far();
