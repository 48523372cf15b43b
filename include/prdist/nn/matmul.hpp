// SPDX-License-Identifier: Apache-2.0
// Matrix products by the system's BLAS, and the only place that knows it. The two C functions are declared here
// under names of their own: cblas.h cannot be included beside xtensor-blas, and a header-only library must not
// decide for its user which of the two a file may use.
//
// Threads: OpenBLAS would start one per core in every worker process, and workers on one machine would fight over
// the cores. So the first product sets one thread, unless OPENBLAS_NUM_THREADS or OMP_NUM_THREADS is set in the
// environment or set_blas_threads() was called. With one thread equal inputs give equal bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

namespace detail {

extern "C" {
// Enumerations of cblas.h are ints to the callee.
void prdist_cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, float const* a,
                        int lda, float const* b, int ldb, float beta, float* c, int ldc) __asm__("cblas_sgemm");
void prdist_cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha, double const* a,
                        int lda, double const* b, int ldb, double beta, double* c, int ldc) __asm__("cblas_dgemm");
// Weak: other BLAS libraries do not have it, and then it is null.
[[gnu::weak]] void prdist_openblas_set_num_threads(int threads) __asm__("openblas_set_num_threads");
}

inline std::atomic<bool> blas_threads_chosen{false};

inline void choose_blas_threads_once() {
  static bool const done = [] {
    bool const by_user = blas_threads_chosen.exchange(true) || std::getenv("OPENBLAS_NUM_THREADS") != nullptr ||
                         std::getenv("OMP_NUM_THREADS") != nullptr;
    if (!by_user && prdist_openblas_set_num_threads != nullptr) prdist_openblas_set_num_threads(1);
    return true;
  }();
  (void)done;
}

}  // namespace detail

/// For the whole process, at best before the first product. Does nothing when the BLAS is not OpenBLAS.
inline void set_blas_threads(int threads) {
  detail::blas_threads_chosen = true;
  if (detail::prdist_openblas_set_num_threads != nullptr) {
    detail::prdist_openblas_set_num_threads(std::max(threads, 1));
  }
}

enum class Op { none = 111, transpose = 112 };  // as cblas numbers them

/// c = keep * c + op(a) * op(b). `c` must not overlap the others.
template <class Real>
void matmul(In<Real> a, Op op_a, In<Real> b, Op op_b, Matrix<Real> c, std::type_identity_t<Real> keep = 0) {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>);
  auto const inner = op_a == Op::none ? a.columns() : a.rows();
  assert((op_a == Op::none ? a.rows() : a.columns()) == c.rows());
  assert((op_b == Op::none ? b.columns() : b.rows()) == c.columns());
  assert((op_b == Op::none ? b.rows() : b.columns()) == inner);
  if (c.empty()) return;
  detail::choose_blas_threads_once();
  auto const size = [](std::size_t n) {
    assert(n <= std::size_t{std::numeric_limits<int>::max()});
    return static_cast<int>(n);
  };
  auto const leading = [&](std::size_t stride) { return size(std::max<std::size_t>(stride, 1)); };
  constexpr int row_major = 101;
  auto const call = [&](auto gemm) {
    gemm(row_major, static_cast<int>(op_a), static_cast<int>(op_b), size(c.rows()), size(c.columns()), size(inner),
         Real{1}, a.data(), leading(a.stride()), b.data(), leading(b.stride()), keep, c.data(), leading(c.stride()));
  };
  if constexpr (std::is_same_v<Real, float>) {
    call(detail::prdist_cblas_sgemm);
  } else {
    call(detail::prdist_cblas_dgemm);
  }
}

}  // namespace prdist::nn
