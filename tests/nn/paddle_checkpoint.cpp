// A CTR-DNN that Paddle trained and saved predicts here what it predicted there.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <prdist/checkpoint/paddle_dense.hpp>
#include <prdist/checkpoint/paddle_sparse.hpp>
#include <prdist/data/counter_random.hpp>
#include <prdist/data/slot_reader.hpp>
#include <prdist/nn/ctr_dnn.hpp>

#include "../data/temp_dir.hpp"

using namespace prdist;

namespace {

using Embeddings = std::map<Key, std::vector<float>>;

Embeddings read_embeddings(std::string const& folder, std::size_t dim) {
  Embeddings rows;
  read_paddle_sparse(folder, {.embedx_dim = dim - 1}, [&](PaddleRow const& from) {
    auto& row = rows[from.key];
    row.push_back(from.embed_w);
    row.insert(row.end(), from.embedx_w.begin(), from.embedx_w.end());
    row.resize(dim);
  });
  return rows;
}

/// Paddle keeps its variables in the order of their names (fc0.b_0, fc0.w_0, fc1.b_0 ...) and ends in a softmax over
/// two classes, which is the sigmoid of the difference of their inputs.
std::vector<float> ctr_dnn_weights(std::vector<float> const& paddle, nn::CtrDnn const& model) {
  std::vector<float> weights;
  std::size_t at = 0, in = model.slots * model.dim + model.dense;
  for (auto const out : model.hidden) {
    weights.insert(weights.end(), paddle.begin() + static_cast<std::ptrdiff_t>(at + out),
                   paddle.begin() + static_cast<std::ptrdiff_t>(at + out + in * out));
    weights.insert(weights.end(), paddle.begin() + static_cast<std::ptrdiff_t>(at),
                   paddle.begin() + static_cast<std::ptrdiff_t>(at + out));
    at += out + in * out;
    in = out;
  }
  EXPECT_EQ(paddle.size(), at + 2 + 2 * in);
  for (std::size_t i = 0; i < in; ++i) weights.push_back(paddle[at + 2 + 2 * i + 1] - paddle[at + 2 + 2 * i]);
  weights.push_back(paddle[at + 1] - paddle[at]);
  return weights;
}

std::vector<float> predictions(std::string const& dir, std::string const& test_rows, nn::CtrDnn model) {
  auto const embeddings = read_embeddings(paddle_table_folder(dir, 0), model.dim);
  auto const weights = ctr_dnn_weights(read_paddle_dense(paddle_table_folder(dir, 1)).column(0), model);
  SlotReader reader({test_rows});
  Batch batch;
  EXPECT_TRUE(reader.next(batch));
  std::vector<float> rows;
  for (auto const key : batch.keys) {
    auto const found = embeddings.find(key);
    auto const row = found == embeddings.end() ? std::vector<float>(model.dim) : found->second;
    rows.insert(rows.end(), row.begin(), row.end());
  }
  std::vector<std::span<float const>> const tables{rows};
  std::vector<float> out(batch.size());
  model.predict(batch, weights, tables, out);
  return out;
}

std::vector<float> numbers_in(std::string const& path) {
  std::ifstream file(path);
  return {std::istream_iterator<float>(file), {}};
}

}  // namespace

TEST(PaddleCheckpoint, OfRealPaddlePredictsTheSame) {
  auto const* const named = std::getenv("PRDIST_PADDLE_SAMPLES");
  std::string const samples = named != nullptr ? named : PADDLE_SAMPLES;
  auto const sample = samples + "/ctr_dnn_dim9_adam";
  if (!std::filesystem::exists(sample)) {
    GTEST_SKIP() << "no checkpoint of Paddle at hand: set PRDIST_PADDLE_SAMPLES to the folder of ctr_dnn_dim9_adam";
  }
  auto const expected = numbers_in(sample + "/pred.txt");
  auto const found = predictions(sample + "/persistables", sample + "/test_rows.txt", {.hidden = {8, 4}});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 5e-7F) << "row " << i;
}

TEST(PaddleCheckpoint, WrittenInPaddlesLayoutPredictsTheSame) {
  TempDir const dir;
  nn::CtrDnn const model{.dim = 3, .hidden = {4}};
  std::uint64_t draws = 0;
  auto const draw = [&] { return static_cast<float>(mix(++draws) >> 40) / 16777216.0F - 0.5F; };

  Embeddings embeddings;
  PaddleSparseWriter sparse(paddle_table_folder(dir.path().native(), 0), 4, 2);
  for (Key key = 0; key < 20; ++key) {
    auto& row = embeddings[key];
    row = {draw(), draw(), draw()};
    sparse.write({.key = key,
                  .show = 1,
                  .embed_w = row[0],
                  .embed_state = std::vector<float>(state_floats(PaddleRule::adam, 1)),
                  .embedx_w = {row[1], row[2]},
                  .embedx_state = std::vector<float>(state_floats(PaddleRule::adam, 2))});
  }
  sparse.close();
  std::size_t const in = 26 * 3 + 13, hidden = 4;
  PaddleDense dense{.columns = 3};
  for (std::size_t i = 0; i < hidden + in * hidden + 2 + hidden * 2; ++i) {
    dense.values.insert(dense.values.end(), {draw(), 0, 0});
  }
  write_paddle_dense(paddle_table_folder(dir.path().native(), 1), dense, 2);

  std::string lines;
  std::vector<double> expected;
  auto const flat = dense.column(0);
  for (int example = 0; example < 5; ++example) {
    lines += concat("click:", example % 2);
    std::vector<double> x;
    for (std::size_t slot = 0; slot < 26; ++slot) {
      Key const key = mix(++draws) % 25;  // some are in no table
      auto const found = embeddings.find(key);
      for (std::size_t d = 0; d < 3; ++d) x.push_back(found == embeddings.end() ? 0 : double{found->second[d]});
      if (slot == 0) {
        for (std::size_t i = 0; i < 13; ++i) lines += concat(" dense_feature:0.", i);
      }
      lines += concat(' ', slot + 1, ':', key);
    }
    for (std::size_t i = 0; i < 13; ++i) x.push_back(std::strtod(concat("0.", i).c_str(), nullptr));
    lines += '\n';
    std::array<double, 2> z{double{flat[hidden + in * hidden]}, double{flat[hidden + in * hidden + 1]}};
    for (std::size_t h = 0; h < hidden; ++h) {
      double y = double{flat[h]};
      for (std::size_t i = 0; i < in; ++i) y += x[i] * double{flat[hidden + i * hidden + h]};
      for (std::size_t c = 0; c < 2; ++c) {
        z[c] += std::max(y, 0.0) * double{flat[hidden + in * hidden + 2 + 2 * h + c]};
      }
    }
    expected.push_back(std::exp(z[1]) / (std::exp(z[0]) + std::exp(z[1])));
  }
  auto const found = predictions(dir.path().native(), dir.file("rows", lines), model);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(double{found[i]}, expected[i], 1e-5) << "row " << i;
}
