#include <prdist/launch/member.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(JobMember, IsCalledByRoleAndIndexAndLogsUnderPaddlesNames) {
  JobMember const server{JobRole::server, 0};
  JobMember const trainer{JobRole::trainer, 12};
  EXPECT_EQ(to_string(server), "server 0");
  EXPECT_EQ(to_string(trainer), "trainer 12");
  EXPECT_EQ(log_name(server), "serverlog.0");
  EXPECT_EQ(log_name(trainer), "workerlog.12");
}
