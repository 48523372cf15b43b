#include <prdist/trainer/operation.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using detail::Operation;

TEST(Operation, IsReadyWhenItIsSealedAndEveryAnswerIsThere) {
  Operation operation("a pull", {});
  operation.add(0);
  operation.complete(0, nullptr);
  EXPECT_FALSE(operation.gate().is_open());  // more frames may follow
  operation.add(1);
  operation.seal();
  EXPECT_FALSE(operation.gate().is_open());
  EXPECT_EQ(operation.owing(), std::vector<std::uint32_t>{1});
  operation.complete(1, nullptr);
  EXPECT_TRUE(operation.gate().is_open());
  EXPECT_TRUE(operation.settled());
  EXPECT_FALSE(operation.error());
}

TEST(Operation, KeepsTheFirstError) {
  Operation operation("a push", {});
  operation.add(0);
  operation.add(1);
  operation.seal();
  Error const first(Errc::table_unknown, "first"), second(Errc::table_unknown, "second");
  operation.complete(0, &first);
  EXPECT_FALSE(operation.gate().is_open());  // the other answer still goes into the caller's memory
  operation.complete(1, &second);
  EXPECT_EQ(operation.error()->message(), "first");
}

TEST(Operation, ALostServerEndsTheWaitAtOnceButDoesNotSettle) {
  Operation operation("a pull", {});
  operation.add(0);
  operation.add(1);
  operation.seal();
  Error const gone(Errc::transport_closed, "gone");
  operation.complete(0, &gone);
  EXPECT_TRUE(operation.gate().is_open());
  EXPECT_FALSE(operation.settled());
  EXPECT_EQ(operation.owing(), std::vector<std::uint32_t>{1});
}
