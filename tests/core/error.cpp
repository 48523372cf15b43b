#include <prdist/core/error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

using namespace prdist;

TEST(Error, EveryCodeHasItsOwnAreaAndCause) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(last_errc); ++code) {
    auto const name = name_of(static_cast<Errc>(code));
    EXPECT_NE(name.find('.'), std::string_view::npos) << name;
    EXPECT_TRUE(names.insert(name).second) << name << " stands twice";
  }
}

TEST(Error, NumbersOfOtherProcessesAreCodes) {
  EXPECT_EQ(errc_of(static_cast<std::uint64_t>(Errc::data_line)), Errc::data_line);
  EXPECT_EQ(errc_of(static_cast<std::uint64_t>(last_errc)), last_errc);
  EXPECT_EQ(errc_of(static_cast<std::uint64_t>(last_errc) + 1), Errc::internal);
  EXPECT_EQ(errc_of(~std::uint64_t{0}), Errc::internal);
}

TEST(Error, TextCanBeSearchedByAreaAndCause) {
  Error const error(Errc::transport_refused, "worker 2 -> server 0 at 10.0.0.4:7164: ", "connection refused after ", 3,
                    " tries");
  EXPECT_STREQ(error.what(),
               "prdist[transport.refused] worker 2 -> server 0 at 10.0.0.4:7164: connection refused after 3 tries");
  EXPECT_EQ(error.message(), "worker 2 -> server 0 at 10.0.0.4:7164: connection refused after 3 tries");
}

TEST(Error, KeepsItsTextWhenItIsMovedFrom) {
  Error first(Errc::internal, "here");
  Error const second = std::move(first);
  EXPECT_STREQ(first.what(), second.what());  // NOLINT(bugprone-use-after-move): that is the question
}

TEST(Error, ResultThrowsItWhenTheValueIsAskedFor) {
  Result<int> const failed = Error(Errc::internal, "no value");
  try {
    (void)failed.value();
    FAIL() << "value() returned";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), Errc::internal);
  }
}

TEST(Error, ExitCodesFollowTheLaunchContract) {
  EXPECT_EQ(exit_code(Errc::config_missing), 78);
  EXPECT_EQ(exit_code(Errc::data_line), 78);
  EXPECT_EQ(exit_code(Errc::job_peer_lost), 75);
  EXPECT_EQ(exit_code(Errc::job_deadline), 75);
  EXPECT_EQ(exit_code(Errc::job_stopped), 143);
  EXPECT_EQ(exit_code(Errc::job_diverged), 78);
}
