#include <prdist/core/descriptor.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

using prdist::Descriptor;

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

}  // namespace

TEST(Descriptor, ClosesWhatItOwnsOnceAndPassesItOnByMove) {
  int const fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  {
    Descriptor first(fd);
    Descriptor second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), fd);
    first = std::move(second);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, ResetClosesTheOldOne) {
  int const old = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  Descriptor descriptor(old);
  descriptor.reset();
  EXPECT_FALSE(descriptor);
  EXPECT_FALSE(is_open(old));
}

TEST(Descriptor, ReleaseHandsItOverOpen) {
  Descriptor descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int const fd = descriptor.release();
  EXPECT_FALSE(descriptor);
  EXPECT_TRUE(is_open(fd));
  descriptor.reset(fd);
}
