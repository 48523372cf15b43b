// SPDX-License-Identifier: Apache-2.0
// Matrix: a view of rows in memory, what layers take and give. It owns nothing and is passed by value. Rows may lie
// apart (stride), so a stretch of columns is again a Matrix, and any two-dimensional row-major xtensor container,
// adaptor or view over memory converts to it. Buffer is the memory behind one that a network keeps between steps.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace prdist::nn {

/// What xtensor's containers, adaptors and strided views offer; named by its shape, so that this header needs no
/// xtensor.
template <class Tensor>
concept has_strided_data = requires(Tensor& tensor) {
  { *tensor.data() } -> std::convertible_to<double>;
  { tensor.data_offset() } -> std::convertible_to<std::size_t>;
  { tensor.dimension() } -> std::convertible_to<std::size_t>;
  { tensor.shape()[0] } -> std::convertible_to<std::size_t>;
  { tensor.strides()[0] } -> std::convertible_to<std::ptrdiff_t>;
};

template <class Real>
class Matrix {
 public:
  using value_type = std::remove_const_t<Real>;

  Matrix() = default;
  Matrix(Real* data, std::size_t rows, std::size_t columns, std::size_t stride) noexcept
      : data_(data), rows_(rows), columns_(columns), stride_(stride) {
    assert(stride >= columns);
  }
  /// The whole of `values`, row behind row.
  Matrix(std::span<Real> values, std::size_t rows, std::size_t columns) noexcept
      : Matrix(values.data(), rows, columns, columns) {
    assert(values.size() == rows * columns);
  }
  /// One column.
  explicit Matrix(std::span<Real> values) noexcept : Matrix(values, values.size(), 1) {}

  /// A mutable view where a const one is asked for.
  operator Matrix<Real const>() const noexcept requires(!std::is_const_v<Real>) {
    return {data_, rows_, columns_, stride_};
  }

  /// An xtensor of two dimensions in row-major order; it must outlive the view.
  template <has_strided_data Tensor>
  requires std::convertible_to<decltype(std::declval<Tensor&>().data()), Real*> Matrix(Tensor& tensor)
  noexcept
      : Matrix(tensor.data() + tensor.data_offset(), tensor.shape()[0], tensor.shape()[1],
               // A stride of 0 is how xtensor marks a dimension of one.
               tensor.shape()[0] == 1 ? tensor.shape()[1] : static_cast<std::size_t>(tensor.strides()[0])) {
    assert(tensor.dimension() == 2);
    assert(tensor.shape()[1] <= 1 || tensor.strides()[1] == 1);
  }

  [[nodiscard]] Real* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0 || columns_ == 0; }

  [[nodiscard]] Real& operator()(std::size_t row, std::size_t column) const noexcept {
    assert(row < rows_ && column < columns_);
    return data_[row * stride_ + column];
  }
  [[nodiscard]] std::span<Real> row(std::size_t row) const noexcept {
    assert(row < rows_);
    return {data_ + row * stride_, columns_};
  }
  /// `count` columns from `first` on.
  [[nodiscard]] Matrix columns(std::size_t first, std::size_t count) const noexcept {
    assert(first + count <= columns_);
    return {data_ + first, rows_, count, stride_};
  }
  /// All values as one span; rows must not lie apart.
  [[nodiscard]] std::span<Real> flat() const noexcept {
    assert(stride_ == columns_ || rows_ <= 1);
    return {data_, rows_ * columns_};
  }

 private:
  Real* data_ = nullptr;
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0;
};

template <has_strided_data Tensor>
Matrix(Tensor&) -> Matrix<std::remove_pointer_t<decltype(std::declval<Tensor&>().data())>>;

/// The whole of a vector, array or span, row behind row.
template <std::ranges::contiguous_range Values>
requires std::ranges::borrowed_range<Values>
[[nodiscard]] auto as_matrix(Values&& values, std::size_t rows, std::size_t columns) noexcept {
  using Real = std::remove_reference_t<std::ranges::range_reference_t<Values>>;
  return Matrix<Real>(std::span<Real>(values), rows, columns);
}

/// A parameter that takes whatever converts to a Matrix of const values, while another one decides on `Real`.
template <class Real>
using In = std::type_identity_t<Matrix<Real const>>;
template <class Real>
using InSpan = std::type_identity_t<std::span<Real const>>;

/// Memory that grows to the largest shape asked for and is then used again.
template <class Real>
class Buffer {
 public:
  /// A view of this shape; its values are whatever the last use left. Views given before become invalid when the
  /// memory grows.
  [[nodiscard]] Matrix<Real> shape(std::size_t rows, std::size_t columns) {
    if (values_.size() < rows * columns) values_.resize(rows * columns);
    return {values_.data(), rows, columns, columns};
  }

 private:
  std::vector<Real> values_;
};

}  // namespace prdist::nn
