// What the checksums of a request cost: once at the sender and once at the receiver, beside one copy of the bytes.
#include <prdist/wire/checksum.hpp>

#include <array>
#include <cstring>
#include <vector>

#include "key_sets.hpp"

namespace {

void run() {
  using namespace prdist;
  constexpr std::size_t size = bench::request_keys * (sizeof(Key) + bench::row_dim * sizeof(float));
  std::vector<std::byte> payload(size), copy(size);
  for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<std::byte>(i * 131 >> 3);
  std::vector<std::byte> sums(checksum_count(size) * sizeof(std::uint64_t)), other(sums.size());
  std::array<ConstBytes, 1> const whole{ConstBytes(payload)};
  std::array<ConstBytes, 2> const halves{ConstBytes(payload).first(size / 3), ConstBytes(payload).subspan(size / 3)};
  write_checksums(std::span<ConstBytes const>(whole), sums);
  write_checksums(std::span<ConstBytes const>(halves), other);
  bench::verify(sums == other, "checksums depend on how the payload is cut");

  bench::Rounds("7.2 MB, the payload of 100,000 keys and rows", "byte", size)
      .add("memcpy", [&] { std::memcpy(copy.data(), payload.data(), size); })
      .add("checksums, one side", [&] { write_checksums(std::span<ConstBytes const>(whole), sums); })
      .run(51);
}

bench::Entry const entry{"wire/checksum", run};

}  // namespace
