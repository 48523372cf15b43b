#include <prdist/launch/local_plan.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

using namespace prdist;

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Ports that were free a moment ago, for lists: the kernel gives out others first.
std::vector<std::uint16_t> free_ports(std::size_t count) {
  std::vector<BoundPort> held;
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < count; ++i) {
    held.push_back(bind_loopback().value());
    ports.push_back(held.back().endpoint.port);
  }
  return ports;
}

}  // namespace

TEST(LocalPlan, HoldsAPortForEveryEndpoint) {
  LocalJob job;
  job.servers = 2;
  job.trainers = 3;
  auto const local = plan_local(job).value();
  EXPECT_EQ(local.plan.servers.size(), 2U);
  EXPECT_EQ(local.plan.trainers.size(), 3U);
  EXPECT_EQ(local.servers.size() + local.others.size(), 6U);
  std::set<std::string> endpoints{to_string(local.plan.gloo)};
  for (auto const& member : members_of(local.plan)) endpoints.insert(to_string(endpoint_of(local.plan, member)));
  EXPECT_EQ(endpoints.size(), 6U);
  EXPECT_EQ(local.plan.pod_name.size(), 6U);
  EXPECT_EQ(local.plan.pod_name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos);
}

TEST(LocalPlan, ACollectiveJobHasNoServers) {
  LocalJob job;
  job.mode = JobMode::collective;
  job.trainers = 2;
  auto const local = plan_local(job).value();
  EXPECT_TRUE(local.plan.servers.empty());
  EXPECT_EQ(local.plan.trainers.size(), 2U);
  EXPECT_NE(local.plan.gloo.port, 0);
}

TEST(LocalPlan, BindsTheHostThatIsGiven) {
  LocalJob job;
  job.host = "127.0.0.2";
  auto const local = plan_local(job).value();
  for (auto const& endpoint : {local.plan.servers.front(), local.plan.trainers.front(), local.plan.gloo}) {
    EXPECT_EQ(endpoint.host, "127.0.0.2");
    EXPECT_NE(endpoint.port, 0);
  }
  job.host = "203.0.113.1";
  auto const foreign = plan_local(job);
  ASSERT_FALSE(foreign);
  EXPECT_TRUE(has(foreign.error().what(), "203.0.113.1:0 cannot be bound: ")) << foreign.error().what();
}

TEST(LocalPlan, CountsPortsFromTheFirst) {
  LocalJob job;
  for (int attempt = 0; attempt < 20; ++attempt) {  // somebody may have one of the next ports
    job.first_port = free_ports(1).front();
    if (job.first_port > 65000) continue;
    auto const local = plan_local(job);
    if (!local) continue;
    EXPECT_EQ(local->plan.servers.front().port, job.first_port);
    EXPECT_EQ(local->plan.trainers.front().port, job.first_port + 1);
    EXPECT_EQ(local->plan.gloo.port, job.first_port + 2);
    return;
  }
  FAIL() << "twenty times no three ports in a row";
}

TEST(LocalPlan, OfListsHoldsThoseOfThisNode) {
  auto const ports = free_ports(5);
  LocalJob job;
  job.host = "127.0.0.2";
  job.server_list = {{"127.0.0.1", ports[0]}, {"127.0.0.2", ports[1]}};
  job.trainer_list = {{"127.0.0.1", ports[2]}, {"127.0.0.2", ports[3]}};
  job.gloo_port = ports[4];
  auto const second = plan_local(job).value();
  EXPECT_EQ(second.plan.here, (std::vector<JobMember>{{JobRole::server, 1}, {JobRole::trainer, 1}}));
  EXPECT_EQ(second.servers.size(), 1U);
  EXPECT_EQ(second.others.size(), 1U);
  EXPECT_TRUE(runs_in_part(second.plan));
  EXPECT_EQ(to_string(second.plan.gloo), concat("127.0.0.1:", ports[4]));
  // The other node of the same machine takes the rest, and gloo's port with the first server.
  job.host = "127.0.0.1";
  auto const first = plan_local(job).value();
  EXPECT_EQ(first.others.size(), 2U);
  EXPECT_EQ(node_count(first.plan), 2U);
}

TEST(LocalPlan, OfListsSaysWhichPortIsTaken) {
  auto const taken = bind_loopback().value();
  ASSERT_TRUE(start_listening(taken));
  auto const ports = free_ports(3);
  LocalJob job;
  job.server_list = {taken.endpoint};
  job.trainer_list = {{"127.0.0.1", ports[0]}};
  job.with_gloo = "0";
  auto const refused = plan_local(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::transport_in_use);
  EXPECT_TRUE(has(refused.error().what(), concat(to_string(taken.endpoint), " cannot be bound: ")))
      << refused.error().what();
  job.server_list = {{"127.0.0.1", ports[1]}};
  job.gloo_port = taken.endpoint.port;
  EXPECT_TRUE(plan_local(job)) << "nobody asked for gloo";
  job.with_gloo = "1";
  auto const gloo = plan_local(job);
  ASSERT_FALSE(gloo);
  EXPECT_TRUE(has(gloo.error().what(), "is taken: give another with --gloo_port on all nodes")) << gloo.error().what();
}
