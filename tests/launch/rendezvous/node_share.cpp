#include <prdist/launch/rendezvous/node_share.hpp>

#include <gtest/gtest.h>

#include <set>

#include "nodes.hpp"

using namespace prdist;

namespace {

LocalJob job_of(std::size_t servers, std::size_t trainers) {
  LocalJob job;
  job.job_id = "ctr";
  job.servers = servers;
  job.trainers = trainers;
  return job;
}

}  // namespace

TEST(NodeShare, AnOfferHoldsAPortForEachMember) {
  auto const offer = make_offer(job_of(2, 3), "127.0.0.2").value();
  EXPECT_EQ(offer.node.host, "127.0.0.2");
  EXPECT_EQ(offer.node.name.size(), 6U);
  ASSERT_EQ(offer.node.servers.size(), 2U);
  ASSERT_EQ(offer.node.trainers.size(), 3U);
  EXPECT_EQ(offer.servers.at(1).endpoint, offer.node.servers[1]);
  EXPECT_EQ(offer.others.size(), 4U);
  std::set<Endpoint> all{offer.node.gloo};
  all.insert(offer.node.servers.begin(), offer.node.servers.end());
  all.insert(offer.node.trainers.begin(), offer.node.trainers.end());
  EXPECT_EQ(all.size(), 6U);
}

TEST(NodeShare, AnOfferHasThePortsThatAreAskedFor) {
  // Of all that are free, as many in a row as it takes.
  auto job = job_of(1, 2);
  Result<NodeOffer> offer = Error(Errc::transport_in_use, "");
  while (!offer) {
    auto const free = bind_free_port("127.0.0.2").value().endpoint.port;
    job.first_port = std::min<std::uint16_t>(free, 65000);
    offer = make_offer(job, "127.0.0.2");
  }
  auto const first = job.first_port;
  auto const at = [](int port) { return Endpoint{"127.0.0.2", static_cast<std::uint16_t>(port)}; };
  EXPECT_EQ(offer->node.servers, (std::vector{at(first)}));
  EXPECT_EQ(offer->node.trainers, (std::vector{at(first + 1), at(first + 2)}));
  EXPECT_EQ(offer->node.gloo, at(first + 3));
  ASSERT_TRUE(start_listening(offer->servers.at(0)));
  EXPECT_EQ(make_offer(job, "127.0.0.2").error().code(), Errc::transport_in_use);
  auto const gloo = bind_free_port("127.0.0.2").value().endpoint;
  job.first_port = 0;
  job.gloo_port = gloo.port;
  EXPECT_EQ(make_offer(job, "127.0.0.2").value().node.gloo, gloo);
}

TEST(NodeShare, PaddlesBarrierIsUsedAsItIsAskedFor) {
  auto job = job_of(1, 1);
  job.with_gloo = "2";
  auto offer = make_offer(job, "127.0.0.1").value();
  JobState state;
  state.nodes = {offer.node};
  EXPECT_EQ(share_of(state, std::move(offer), job).plan.with_gloo, "2");
}

TEST(NodeShare, IndicesGoByRankAndAllWorkOutTheSame) {
  auto first = make_offer(job_of(1, 2), "127.0.0.1").value();
  auto second = make_offer(job_of(2, 1), "127.0.0.2").value();
  JobState state;
  state.nodes = {first.node, second.node};
  auto const name = second.node.name;
  state.nodes[1].first_trainer = 2;
  auto const one = share_of(state, std::move(first), job_of(1, 2));
  auto const two = share_of(state, std::move(second), job_of(2, 1));
  EXPECT_EQ(one.plan.servers, two.plan.servers);
  EXPECT_EQ(one.plan.trainers, two.plan.trainers);
  EXPECT_EQ(one.plan.gloo, two.plan.gloo);
  EXPECT_EQ(two.plan.pod_name, name);
  EXPECT_EQ(node_count(two.plan), 2U);
  EXPECT_EQ(one.plan.here,
            (std::vector<JobMember>{{JobRole::server, 0}, {JobRole::trainer, 0}, {JobRole::trainer, 1}}));
  EXPECT_EQ(two.plan.here, (std::vector<JobMember>{{JobRole::server, 1}, {JobRole::server, 2}, {JobRole::trainer, 2}}));
  ASSERT_EQ(two.servers.size(), 2U);
  EXPECT_EQ(two.servers.at(2).endpoint, two.plan.servers[2]) << "the socket is that server's own";
}

// Paddle takes every endpoint whose text begins with its own address: 10.0.0.1 has those of 10.0.0.10.
TEST(NodeShare, ANodeIsItsNameNotTheBeginningOfItsAddress) {
  auto offer = make_offer(job_of(1, 1), "127.0.0.1").value();
  JobState state;
  state.nodes = {rendezvous_test::node("other", "127.0.0.10"), offer.node};
  state.nodes[1].first_trainer = 1;
  auto const local = share_of(state, std::move(offer), job_of(1, 1));
  EXPECT_EQ(local.plan.here, (std::vector<JobMember>{{JobRole::server, 1}, {JobRole::trainer, 1}}));
}

TEST(NodeShare, WhoComesLaterKnowsHowTheJobBegan) {
  auto offer = make_offer(job_of(1, 2), "127.0.0.3").value();
  JobState state;
  state.terms = {1, 3};
  state.first_trainers = 4;
  state.nodes = {rendezvous_test::node("a"), rendezvous_test::node("gone"), offer.node};
  for (std::size_t i = 0; i < 2; ++i) {
    state.nodes[i].trainers.push_back({"h", 2001});
    state.nodes[i].first_trainer = 2 * i;
  }
  state.nodes[1].phase = NodePhase::left;
  state.nodes[1].servers.clear();
  state.nodes[2].servers.clear();
  state.nodes[2].rank = 1;
  state.nodes[2].first_trainer = 2;
  auto const own = offer.node.trainers;
  auto const local = share_of(state, std::move(offer), job_of(1, 2));
  EXPECT_EQ(local.plan.here, (std::vector<JobMember>{{JobRole::trainer, 2}, {JobRole::trainer, 3}}));
  EXPECT_EQ(local.plan.trainers.size(), 4U);
  EXPECT_EQ(local.plan.trainers[3], own[1]) << "the place of the one that went";
  EXPECT_EQ(local.plan.trainers_num, 4U);
  EXPECT_EQ(local.plan.elastic, "2:6");
  EXPECT_EQ(local.plan.nodes, 2U);
  EXPECT_TRUE(local.servers.empty());
}
