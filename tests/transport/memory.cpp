#include <prdist/transport/memory.hpp>

#include <gtest/gtest.h>

#include "../support/any_transport.hpp"
#include "../support/recorder.hpp"

namespace prdist::test {
namespace {

TEST(Memory, SteppedHubDeliversOneFrameAtATime) {
  auto const hub = std::make_shared<MemoryHub>(MemoryHub::Stepped{});
  Memory memory(hub);
  auto const far = std::make_shared<Recorder>();
  auto const listener = memory.listen(anywhere(), [&](auto const&) { return far; }).value();
  auto const connection = memory.connect(listener->endpoint(), std::make_shared<Recorder>(), {}).value();
  connection->send({});
  connection->send({});
  EXPECT_TRUE(far->frames().empty());
  EXPECT_TRUE(hub->step());
  EXPECT_EQ(far->frames().size(), 1U);
  EXPECT_TRUE(hub->step());
  EXPECT_EQ(far->frames().size(), 2U);
  EXPECT_FALSE(hub->step());
}

TEST(Memory, AfterCloseNothingOfTheSenderIsRead) {
  auto const hub = std::make_shared<MemoryHub>(MemoryHub::Stepped{});
  Memory memory(hub);
  auto const far = std::make_shared<Recorder>();
  auto const listener = memory.listen(anywhere(), [&](auto const&) { return far; }).value();
  auto const connection = memory.connect(listener->endpoint(), std::make_shared<Recorder>(), {}).value();
  {
    auto const bytes = noise(1000, 1);
    connection->send({{}, {ConstBytes(bytes)}, nullptr});  // on its way when the caller gives up
    connection->close();
  }
  while (hub->step()) {
  }
  EXPECT_TRUE(far->frames().empty());
  EXPECT_TRUE(far->closed());
}

TEST(Memory, TwoHubsDoNotMeet) {
  Memory one(std::make_shared<MemoryHub>());
  Memory two(std::make_shared<MemoryHub>());
  auto const listener = one.listen(anywhere(), [](auto const&) { return std::make_shared<Recorder>(); }).value();
  EXPECT_FALSE(two.connect(listener->endpoint(), std::make_shared<Recorder>(), {}));
}

}  // namespace
}  // namespace prdist::test
