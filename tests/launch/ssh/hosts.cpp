// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/hosts.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::error_of;

namespace {

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (auto const& host : parse_ssh_hosts("machines", text)) names.push_back(concat(to_string(host), ' ', host.slots));
  return names;
}

std::string wrong(std::string_view text) {
  return error_of([&] { return parse_ssh_hosts("machines", text); });
}

}  // namespace

TEST(SshHosts, ALineIsUserHostPortAndSlots) {
  EXPECT_EQ(
      names_in("# all\n\nnode1\n root@10.0.0.2:2222 slots=4 max_slots=8 # big\r\n\tme@corp@node3\tslots=1\n[fd00::1]\n"
               "u@[fe80::1%eth0]:22\nnode1:2222"),
      (std::vector<std::string>{"node1 1", "root@10.0.0.2:2222 4", "me@corp@node3 1", "[fd00::1] 1",
                                "u@[fe80::1%eth0]:22 1", "node1:2222 1"}));
}

TEST(SshHosts, WhatIsWrongIsNamedWithFileAndLine) {
  constexpr auto next = ". Write user@host:port slots=2; user, port and slots may be missing";
  for (auto const& [line, what] : std::vector<std::pair<std::string, std::string>>{
           {"-oProxyCommand=reboot", "a host name does not begin with '-'"},
           {"me@-oProxyCommand=x", "a host name does not begin with '-'"},
           {"-l@node1", "'-l' is no user name"},
           {"@node1", "'' is no user name"},
           {"$(reboot)", "'$(reboot)' is no host name"},
           {"node1;ls", "'node1;ls' is no host name"},
           {"node1:", "'' is no port from 1 to 65535"},
           {"node1:0", "'0' is no port from 1 to 65535"},
           {"node1:70000", "'70000' is no port from 1 to 65535"},
           {"fd00::1", "an IPv6 address stands in brackets: [fd00::1]:22"},
           {"[fd00::1", "a bracket is open"},
           {"[fd00::1]22", "behind the bracket only :PORT may follow"},
           {"[-x]", "'-x' is no address"},
           {"node1 slots=0", "'slots=0' is not slots=N with N from 1 to 1024"},
           {"node1 slots=two", "'slots=two' is not slots=N with N from 1 to 1024"},
           {"node1 gpus=2", "'gpus=2' is not understood: only slots=N may follow"},
       }) {
    EXPECT_EQ(wrong("node0\n" + line + "\n"),
              concat("prdist[config.invalid] ssh: machines:2: '", line, "', ", what, next));
  }
}

TEST(SshHosts, AFileThatIsNoTextIsNamedToTheEnd) {
  using namespace std::string_literals;
  EXPECT_EQ(wrong("\xff\xfen\0o\0"s),
            "prdist[config.invalid] ssh: machines:1: '\xff\xfen\\x00o\\x00', '\xff\xfen\\x00o\\x00' is no host name. "
            "Write user@host:port slots=2; user, port and slots may be missing");
}

TEST(SshHosts, AHostIsNamedOnce) {
  EXPECT_EQ(wrong("node1\n\nroot@node1 slots=2\n"),
            "prdist[config.contradiction] ssh: machines:3: 'node1' stands in line 1 already: name each host once, and "
            "give it slots=N for N trainers");
  EXPECT_EQ(wrong("# nobody\n"),
            "prdist[config.missing] ssh: machines names no host: write one user@host:port per line");
}
