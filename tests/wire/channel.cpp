#include <prdist/wire/channel.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace prdist;

namespace {

/// The least a user of a connection writes.
struct Listening final : FrameSink {
  explicit Listening(bool& gone) : gone_(gone) {}
  ~Listening() override { gone_ = true; }

  Result<std::span<Bytes const>> on_header(Header const&) override { return std::span<Bytes const>(); }
  void on_frame(Header const& header) override { frames.push_back(header.request); }
  void on_close(Error const& error) override { end = error.what(); }

  std::vector<std::uint64_t> frames;
  std::string end;

 private:
  bool& gone_;
};

}  // namespace

TEST(Channel, ASinkThatSaysNothingHasNoBacklogAndIsDestroyedThroughItsBase) {
  bool gone = false;
  std::unique_ptr<FrameSink> sink = std::make_unique<Listening>(gone);
  EXPECT_EQ(sink->backlog(), 0U);
  ASSERT_TRUE(sink->on_header({}));
  sink.reset();
  EXPECT_TRUE(gone);
}

TEST(Channel, AnOutgoingFrameOwnsItsPiecesUntilTheLastCopyIsGone) {
  auto memory = std::make_shared<std::array<std::byte, 8>>();
  std::weak_ptr<void const> const watched = memory;
  Outgoing frame{.header = {.request = 3}, .pieces = {ConstBytes(*memory)}, .keep = memory};
  memory.reset();
  auto sent = std::make_unique<Outgoing>(std::move(frame));
  frame = {};
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(sent->pieces.front().size(), 8U);
  sent.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(Channel, ListeningBindsByDefaultAndAPageIsNotFoundUntilItIs) {
  ListenOptions const options;
  EXPECT_EQ(options.descriptor, -1);
  EXPECT_EQ(options.endpoint.port, 0);
  EXPECT_FALSE(options.pages);
  EXPECT_EQ(Page{}.status, 404U);
}
