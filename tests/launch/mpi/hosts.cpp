// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/mpi/hosts.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::error_of;

namespace {

using Hosts = std::vector<std::string>;

}  // namespace

TEST(MpiHosts, EveryFlavourOfHostfileIsRead) {
  EXPECT_EQ(parse_hostfile("machines", "# two machines\n\n node1 slots=2 max_slots=4\nnode2:8\r\n10.0.0.3\tslots=1\n"),
            (Hosts{"node1", "node2", "10.0.0.3"}));
  EXPECT_EQ(parse_hostfile("nodes", "node1\nnode1\nnode2\nnode1"), (Hosts{"node1", "node2"})) << "PBS: a line per core";
  EXPECT_EQ(parse_hostfile("machines", "tutorial@node1 # head\n[fd00::1]:2\nfd00::2\n"),
            (Hosts{"node1", "fd00::1", "fd00::2"}));
}

TEST(MpiHosts, WhatIsNoHostIsNamedWithItsLine) {
  EXPECT_EQ(error_of([] { return parse_hostfile("machines", "node1\n-oProxyCommand=x\n"); }),
            "prdist[config.invalid] machines:2: '-oProxyCommand=x' begins with no host name: write one host per line, "
            "for example node1 slots=2");
  EXPECT_NE(error_of([] { return parse_hostfile("machines", "$(reboot)\n"); }), "");
  EXPECT_EQ(error_of([] { return parse_hostfile("machines", "# nobody\n\n"); }),
            "prdist[config.missing] machines names no host: write one host per line");
}

TEST(MpiHosts, SlurmsShortFormIsWrittenOut) {
  EXPECT_EQ(expand_nodelist("gpu[01-03,7],login"), (Hosts{"gpu01", "gpu02", "gpu03", "gpu7", "login"}));
  EXPECT_EQ(expand_nodelist("a,b[9-11]-ib,c[1]"), (Hosts{"a", "b9-ib", "b10-ib", "b11-ib", "c1"}));
  for (auto const& [list, what] :
       std::vector<std::pair<std::string, std::string>>{{"a[1-2", "a bracket is open"},
                                                        {"a[2-1]", "'2-1' is no range"},
                                                        {"a[1-x]", "'1-x' is no range"},
                                                        {"a[1-99999999]", "'1-99999999' is no range"},
                                                        {"a[1]b[2]", "two brackets in one name are not understood"}}) {
    EXPECT_EQ(error_of([&, &text = list] { return expand_nodelist(text); }),
              concat("prdist[config.invalid] SLURM_JOB_NODELIST='", list, "': ", what,
                     "; give the hosts in a file with --hostfile"));
  }
}

TEST(MpiHosts, ThisMachineIsToldFromOthers) {
  EXPECT_TRUE(is_this_machine("127.0.0.1"));
  EXPECT_TRUE(is_this_machine("localhost"));
  EXPECT_FALSE(is_this_machine("192.0.2.1")) << "an address for documents, nobody's";
  EXPECT_FALSE(is_this_machine("no-such-host.invalid"));
}
