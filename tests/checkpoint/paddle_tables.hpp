// A small job's tables as Paddle would have saved them, for the tests of moving over.
#pragma once

#include <string>
#include <vector>

#include <prdist/checkpoint/paddle_dense.hpp>
#include <prdist/checkpoint/paddle_sparse.hpp>
#include <prdist/checkpoint/paddle_variables.hpp>

namespace prdist {

/// 5 inputs, 2 hidden, two classes.
inline std::vector<PaddleVariable> small_network() {
  return fully_connected_variables(std::vector<std::size_t>{5, 2}, usual_layer_names(2));
}

inline PaddleRow small_row(Key key) {
  auto const x = static_cast<float>(key) / 8;
  return {.key = key,
          .show = 1,
          .embed_w = x,
          .embed_state = {x / 2, x / 4, 0.729F, 0.997003F},
          .embedx_w = {x + 1, x + 2},
          .embedx_state = {x, -x, x / 8, x / 16, 0.729F, 0.997003F}};
}

/// Table 0 with keys 1 to `rows` of dimension 3, table 1 with every element i as (i, i / 2, i / 4).
inline void write_small_tables(std::string const& folder, Key rows = 40) {
  PaddleSparseWriter sparse(paddle_table_folder(folder, 0), 4, 2);
  for (Key key = 1; key <= rows; ++key) sparse.write(small_row(key));
  sparse.close();
  std::size_t size = 0;
  for (auto const& it : small_network()) size += it.size();
  PaddleDense dense{.columns = 3};
  for (std::size_t i = 0; i < size; ++i) {
    auto const x = static_cast<float>(i);
    dense.values.insert(dense.values.end(), {x, x / 2, x / 4});
  }
  write_paddle_dense(paddle_table_folder(folder, 1), dense, 2);
}

}  // namespace prdist
