// First rows are computed at every pull of an unknown key: this is their price, beside that of zeros.
#include <prdist/table/initializer.hpp>

#include <algorithm>
#include <array>

#include "support.hpp"

namespace {

constexpr std::size_t dim = 16;
constexpr std::uint64_t rows = 1000;

void run() {
  using prdist::Initializer;
  auto const stream = prdist::stream_of(1, 2);
  auto const uniform = Initializer::uniform(-0.5F, 0.5F);
  std::array<float, dim> row{};
  std::array<float, dim / 2> half{};
  prdist::fill_first(uniform, stream, 7, row);
  prdist::fill_first(uniform, stream, 7, half, dim / 2);
  bench::verify(std::equal(half.begin(), half.end(), row.begin() + dim / 2), "a part differs from its whole row");
  bench::verify(std::all_of(row.begin(), row.end(), [](float x) { return x >= -0.5F && x < 0.5F; }), "out of bounds");

  auto const filling = [&](Initializer const& init) {
    return [&row, stream, init] {
      for (prdist::Key key = 0; key < rows; ++key) {
        prdist::fill_first(init, stream, key, row);
        ankerl::nanobench::doNotOptimizeAway(row);
      }
    };
  };
  bench::Rounds("first rows, dim 16", "row", rows)
      .add("zeros", filling(Initializer::zeros()))
      .add("uniform", filling(uniform))
      .add("normal", filling(Initializer::normal(0, 0.01F)))
      .run(51, 20);
}

bench::Entry const entry{"table/initializer", run};

}  // namespace
