// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/placement.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::error_of;

namespace {

using Texts = std::vector<std::string>;

Texts seats(std::string_view hosts, std::optional<std::size_t> servers = {}, std::optional<std::size_t> trainers = {}) {
  Texts texts;
  for (auto const& node : seat_members(parse_ssh_hosts("machines", hosts), servers, trainers)) {
    std::string text;
    for (auto const& member : node) text += concat(text.empty() ? "" : " ", name_of(member.role)[0], member.index);
    texts.push_back(text);
  }
  return texts;
}

}  // namespace

TEST(SshPlacement, EveryHostHasAServerAndATrainerPerSlot) {
  EXPECT_EQ(seats("a\nb\nc\n"), (Texts{"s0 t0", "s1 t1", "s2 t2"}));
  EXPECT_EQ(seats("a\nb slots=3\nc\n"), (Texts{"s0 t0", "s1 t1 t3 t4", "s2 t2"})) << "hosts take turns";
}

TEST(SshPlacement, NumbersAreOfTheWholeJob) {
  EXPECT_EQ(seats("a slots=2\nb slots=2\n", 1, 3), (Texts{"s0 t0 t2", "t1"}));
  EXPECT_EQ(seats("a\nb\n", 3, 1), (Texts{"s0 s2 t0", "s1"}));
  EXPECT_EQ(error_of([] { return seats("a\nb\n", 2, 3); }),
            "prdist[config.contradiction] ssh: 3 trainers are wanted, but the hosts have 2 slots: lower --trainer_num, "
            "or write slots=N in the hostfile");
  EXPECT_EQ(error_of([] { return seats("a\nme@b\n", 1, 1); }),
            "prdist[config.contradiction] ssh: me@b would run neither a server nor a trainer: take it out of the "
            "hostfile, or raise --server_num or --trainer_num");
  EXPECT_EQ(error_of([] { return seats("a slots=1024\nb\n"); }),
            "prdist[config.contradiction] ssh: 2 servers and 1025 trainers: at most 256 and 1024 are possible; give "
            "--server_num and --trainer_num");
}

TEST(SshPlacement, ThePlanHasWhatTheNodesHaveBound) {
  auto const hosts = parse_ssh_hosts("machines", "a slots=2\nb\n");
  auto const members = seat_members(hosts, {}, {});
  auto const plan = plan_of(hosts, members, std::vector<NodeReady>{{"10.0.0.1", {1, 2, 3}, 4}, {"fd00::2", {5, 6}, 7}});
  EXPECT_EQ(plan.servers, (std::vector<Endpoint>{{"10.0.0.1", 1}, {"fd00::2", 5}}));
  EXPECT_EQ(plan.trainers, (std::vector<Endpoint>{{"10.0.0.1", 2}, {"fd00::2", 6}, {"10.0.0.1", 3}}));
  EXPECT_EQ(plan.gloo, (Endpoint{"10.0.0.1", 4}));
}

TEST(SshPlacement, AnAddressThatOthersDoNotReachIsRefused) {
  auto const hosts = parse_ssh_hosts("machines", "localhost\nb\n");
  auto const members = seat_members(hosts, {}, {});
  auto const with = [&](std::string second) {
    return plan_of(hosts, members, std::vector<NodeReady>{{"127.0.0.1", {1, 2}, 3}, {std::move(second), {4, 5}, 6}});
  };
  EXPECT_EQ(
      error_of([&] { return with("10.0.0.2"); }),
      "prdist[config.contradiction] ssh: localhost is 127.0.0.1, where the other hosts do not reach it: name it in "
      "the hostfile by an address that they know, or give --nics");
  EXPECT_EQ(with("127.0.0.1").servers.size(), 2U) << "all on one machine is fine";
}
