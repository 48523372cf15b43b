// SPDX-License-Identifier: Apache-2.0
// One of a server's ports, and what has come and gone through it: so that it can be seen that rows travel on the ports
// for rows.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <prdist/core/port_layout.hpp>
#include <prdist/core/text.hpp>
#include <prdist/wire/frame.hpp>

namespace prdist {

enum class Traffic : std::uint8_t { control, dense, sparse };
inline constexpr std::array<Traffic, 3> every_traffic{Traffic::control, Traffic::dense, Traffic::sparse};

[[nodiscard]] constexpr std::string_view name_of(Traffic traffic) noexcept {
  switch (traffic) {
    case Traffic::control: return "control";
    case Traffic::dense: return "dense";
    case Traffic::sparse: return "sparse";
  }
  return "control";
}

[[nodiscard]] constexpr Traffic traffic_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::pull_rows:
    case Kind::push_rows:
    case Kind::pull_changed: return Traffic::sparse;
    case Kind::pull_dense:
    case Kind::push_dense:
    case Kind::assign_dense: return Traffic::dense;
    default: return Traffic::control;
  }
}

class Port {
 public:
  /// Port `number` of those in `layout`, counted from the first; `port` is what it is bound to.
  Port(std::uint16_t port, std::uint32_t number, PortLayout const& layout)
      : port_(port), number_(number), layout_(layout) {}

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] PortLayout const& layout() const noexcept { return layout_; }
  [[nodiscard]] bool is_sparse() const noexcept { return layout_.is_sparse(number_); }

  /// Counters of one kind of traffic. Any thread.
  struct Count {
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> received = 0;  ///< bytes of frames, without their checksums
    std::atomic<std::uint64_t> sent = 0;
  };
  [[nodiscard]] Count const& of(Traffic traffic) const noexcept { return counts_[static_cast<std::size_t>(traffic)]; }

  void count_request(Header const& header) noexcept {
    auto& count = counts_[static_cast<std::size_t>(traffic_of(header.kind))];
    count.requests.fetch_add(1, std::memory_order_relaxed);
    count.received.fetch_add(header_bytes + header.payload, std::memory_order_relaxed);
  }
  void count_answer(Kind to, std::uint64_t payload) noexcept {
    counts_[static_cast<std::size_t>(traffic_of(to))].sent.fetch_add(header_bytes + payload, std::memory_order_relaxed);
  }

 private:
  std::uint16_t port_;
  std::uint32_t number_;
  PortLayout layout_;
  std::array<Count, every_traffic.size()> counts_;
};

/// `port 7165 for sparse parameters: 12 control, 0 dense, 431 sparse requests, 10240 bytes in, 88064 out`
[[nodiscard]] inline std::string to_string(Port const& port) {
  std::uint64_t received = 0, sent = 0;
  std::string requests;
  for (auto const traffic : every_traffic) {
    auto const& count = port.of(traffic);
    received += count.received;
    sent += count.sent;
    requests += concat(requests.empty() ? "" : ", ", count.requests.load(), ' ', name_of(traffic));
  }
  return concat("port ", port.port(), " for ", port.is_sparse() ? "sparse" : "dense", " parameters: ", requests,
                " requests, ", received, " bytes in, ", sent, " out");
}

}  // namespace prdist
