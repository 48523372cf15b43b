#include <prdist/fleet/shared_failure.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

using namespace prdist;
using test::thrown;

TEST(SharedFailure, TravelsWithItsCode) {
  auto const heard = [](std::string_view text) { return thrown([&] { detail::throw_failure_in(text, "worker 0"); }); };
  auto const lost = heard(detail::failure_text(Error(Errc::job_deadline, "server 1 does not load\nany more")));
  EXPECT_EQ(lost.code(), Errc::job_deadline);
  EXPECT_EQ(lost.message(), "worker 0: server 1 does not load\nany more");
  for (auto const* const text : {"failed 60000\nodd", "failed x\nodd", "failed \nodd"}) {
    EXPECT_EQ(heard(text).code(), Errc::internal) << text;
    EXPECT_EQ(heard(text).message(), "worker 0: odd") << text;
  }
  EXPECT_NO_THROW(detail::throw_failure_in("none\n", "worker 0"));
}
