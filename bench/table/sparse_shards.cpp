// Pull and push of 100,000 random keys out of a million rows, dim 16, without a network: what a server's thread does
// with a request, beside the two hash maps that one would otherwise write.
#include <prdist/table/shard_group.hpp>

#include <array>
#include <bitset>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "key_sets.hpp"

namespace {

using namespace prdist;
using bench::row_dim;

constexpr TableId table = 1;

/// Weights, then Adagrad's sums when there are any.
template <class Rule>
using Row = std::array<float, row_dim*(1 + Rule::state_per_element)>;

void update(Sgd const& rule, float* row, float const* gradient) {
  for (std::size_t i = 0; i < row_dim; ++i) row[i] -= rule.rate * gradient[i];
}

void update(Adagrad const& rule, float* row, float const* gradient) {
  auto* const sum = row + row_dim;
  for (std::size_t i = 0; i < row_dim; ++i) {
    sum[i] += gradient[i] * gradient[i];
    row[i] -= rule.rate * gradient[i] / (std::sqrt(sum[i]) + rule.epsilon);
  }
}

/// A table as a plain map from key to row.
template <class Map, class Rule>
struct MapTable {
  Rule rule;
  Map rows;

  void pull(std::vector<Key> const& keys, std::vector<float>& out) const {
    auto* to = out.data();
    for (auto const key : keys) {
      auto const it = rows.find(key);
      if (it == rows.end()) {
        std::memset(to, 0, row_dim * sizeof(float));
      } else {
        std::memcpy(to, it->second.data(), row_dim * sizeof(float));
      }
      to += row_dim;
    }
  }

  void push(std::vector<Key> const& keys, std::vector<float> const& gradients) {
    auto const* from = gradients.data();
    for (auto const key : keys) {
      update(rule, rows[key].data(), from);
      from += row_dim;
    }
  }
};

struct OurTable {
  explicit OurTable(Optimizer const& rule) : group(std::bitset<shard_count>{}.set(), 1) {
    group.apply(DeclareSparse{table, SparseSpec{.name = "rows", .dim = row_dim, .optimizer = rule}}, released);
  }

  void pull(std::vector<Key> const& keys, std::vector<float>& out) const { group.pull(table, keys, out); }

  void push(std::vector<Key> const& keys, std::vector<float> const& gradients) {
    group.apply(PushRows{table, 0, 1, true, 0, keys, gradients, nullptr}, released);
    released.clear();
  }

  std::vector<Ticket> released;
  ShardGroup group;
};

template <class Rule>
void compare(Rule const& rule) {
  auto const requests = bench::random_requests();
  MapTable<std::unordered_map<Key, Row<Rule>>, Rule> standard{rule, {}};
  MapTable<boost::unordered_flat_map<Key, Row<Rule>>, Rule> flat{rule, {}};
  OurTable ours(rule);
  {
    auto const keys = bench::all_keys();
    auto const gradients = bench::gradients_of(keys);
    standard.push(keys, gradients);
    flat.push(keys, gradients);
    ours.push(keys, gradients);
  }
  for (auto const& [keys, gradients] : requests) {
    standard.push(keys, gradients);
    flat.push(keys, gradients);
    ours.push(keys, gradients);
  }
  std::vector<float> expected(bench::request_keys * row_dim), out(expected.size());
  for (auto const& [keys, gradients] : requests) {
    standard.pull(keys, expected);
    flat.pull(keys, out);
    bench::verify(out == expected, "flat map");
    ours.pull(keys, out);
    bench::verify(out == expected, "ShardGroup differs from a plain map");
  }

  // Every contestant goes through the requests in the same order.
  auto const pulling = [&](auto const& from) {
    return [&, turn = std::size_t{0}]() mutable { from.pull(requests[turn++ % requests.size()].keys, out); };
  };
  auto const pushing = [&](auto& to) {
    return [&, turn = std::size_t{0}]() mutable {
      auto const& [keys, gradients] = requests[turn++ % requests.size()];
      to.push(keys, gradients);
    };
  };
  std::string const name(Rule::name);
  bench::Rounds("pull 100,000 of 1 M rows, " + name, "row", bench::request_keys)
      .add("std::unordered_map", pulling(standard))
      .add("boost::unordered_flat_map", pulling(flat))
      .add("prdist::ShardGroup", pulling(ours))
      .run(31);
  bench::Rounds("push 100,000 of 1 M rows, " + name, "row", bench::request_keys)
      .add("std::unordered_map", pushing(standard))
      .add("boost::unordered_flat_map", pushing(flat))
      .add("prdist::ShardGroup", pushing(ours))
      .run(31);
}

void run() {
  compare(Sgd{.rate = 0.01F});
  compare(Adagrad{});
}

bench::Entry const entry{"table/sparse_shards", run};

}  // namespace
