// SPDX-License-Identifier: Apache-2.0
// Header-only by default. A larger program defines PRDIST_SEPARATE_COMPILATION everywhere and includes
// <prdist/src.hpp> in one source file of its own: the parts behind PRDIST_DECL, which drag in Asio and Beast or
// are long to compile, are then compiled once.
#pragma once

#if defined(PRDIST_SEPARATE_COMPILATION)
#define PRDIST_DECL
#else
#define PRDIST_DECL inline
#endif
