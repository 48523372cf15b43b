#include <prdist/launch/listed.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace prdist;

namespace {

LaunchPlan plan_of(std::string_view servers, std::string_view trainers) {
  LaunchPlan plan;
  plan.servers = parse_endpoints("--servers", servers).value();
  plan.trainers = parse_endpoints("--trainers", trainers).value();
  return plan;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST(Listed, ReadsEndpoints) {
  std::vector<Endpoint> const expected{{"10.0.0.1", 36000}, {"fd00::1", 36001}, {"node3", 7}};
  EXPECT_EQ(parse_endpoints("--servers", "10.0.0.1:36000, [fd00::1]:36001 ,node3:7").value(), expected);
}

TEST(Listed, CountsPortsThatAreLeftOut) {
  std::vector<Endpoint> const expected{{"10.0.0.1", 6172}, {"10.0.0.2", 80}, {"fd00::1", 6174}};
  EXPECT_EQ(parse_endpoints("--trainers", "10.0.0.1,10.0.0.2:80,[fd00::1]", 6172).value(), expected);
}

TEST(Listed, SaysWhichEntryIsWrong) {
  for (auto const& [text, part] : {std::pair<std::string, std::string>{"10.0.0.1:1,10.0.0.2", "'10.0.0.2' has no port"},
                                   {"10.0.0.1:1,,10.0.0.2:1", "'' has no port"},
                                   {"10.0.0.1:70000", "has no port between 1 and 65535"},
                                   {"fd00::1:80", "looks like IPv6 without brackets"}}) {
    auto const read = parse_endpoints("--servers", text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(has(read.error().what(), "launcher: --servers: ")) << read.error().what();
    EXPECT_TRUE(has(read.error().what(), part)) << read.error().what();
  }
}

TEST(Listed, RefusesAnEndpointTwice) {
  EXPECT_TRUE(check_endpoints(plan_of("10.0.0.1:1,10.0.0.1:2", "10.0.0.1:3")));
  auto const twice = check_endpoints(plan_of("10.0.0.1:1,[fd00::1]:2", "10.0.0.2:1,[fd00:0::1]:2"));
  ASSERT_FALSE(twice);
  EXPECT_TRUE(has(twice.error().what(), "[fd00::1]:2 stands twice in the lists, the second time as trainer 1"))
      << twice.error().what();
}

// paddle.distributed.launch compares the beginning of the text, and 10.0.0.1 takes 10.0.0.10's processes too.
TEST(Listed, ANodeRunsThoseOfItsWholeHost) {
  auto const plan = plan_of("10.0.0.1:1,10.0.0.10:1,10.0.0.1:2", "10.0.0.10:2,[::ffff:10.0.0.1]:3");
  std::vector<JobMember> const first{{JobRole::server, 0}, {JobRole::server, 2}, {JobRole::trainer, 1}};
  std::vector<JobMember> const tenth{{JobRole::server, 1}, {JobRole::trainer, 0}};
  EXPECT_EQ(members_on(plan, "10.0.0.1").value(), first);
  EXPECT_EQ(members_on(plan, "10.0.0.10").value(), tenth);
}

TEST(Listed, ANodeFindsItselfByItsAddresses) {
  auto const plan = plan_of("203.0.113.1:1,127.0.0.1:1", "LOCALHOST:2,203.0.113.2:1");
  std::vector<JobMember> const here{{JobRole::server, 1}, {JobRole::trainer, 0}};
  EXPECT_EQ(members_on(plan, "").value(), here);
}

TEST(Listed, ANodeThatIsNotInTheListsSaysWhoItIs) {
  auto const plan = plan_of("203.0.113.1:1", "203.0.113.2:1");
  auto const nobody = members_on(plan, "");
  ASSERT_FALSE(nobody);
  EXPECT_TRUE(has(nobody.error().what(), "name 203.0.113.1, 203.0.113.2, and this machine is "))
      << nobody.error().what();
  EXPECT_TRUE(has(nobody.error().what(), "127.0.0.1")) << nobody.error().what();
  auto const other = members_on(plan, "203.0.113.3");
  ASSERT_FALSE(other);
  EXPECT_TRUE(has(other.error().what(), "name 203.0.113.1, 203.0.113.2 and not --host (POD_IP) '203.0.113.3'"))
      << other.error().what();
}
