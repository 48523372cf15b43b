// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/command.hpp>

#include <array>
#include <memory>

#include "../support.hpp"

using namespace prdist;

namespace {

/// What /bin/sh prints when the script comes in on its standard input, as it does behind ssh.
std::string output_of(std::string const& script, std::string const& folder, std::string const& more = {}) {
  launch_test::TempFolder temp;
  launch_test::write_file(temp / "input", script + more);
  auto const command = concat("cd ", shell_quoted(folder), " && /bin/sh -s <", (temp / "input").string(), " 2>&1");
  std::unique_ptr<FILE, int (*)(FILE*)> const pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string text;
  std::array<char, 4096> bytes{};
  for (std::size_t got = 0; (got = std::fread(bytes.data(), 1, bytes.size(), pipe.get())) > 0;) {
    text.append(bytes.data(), got);
  }
  return text;
}

}  // namespace

TEST(SshCommand, PromisesComeBeforeTheUsersOptionsAndTheHostBehindADoubleDash) {
  SshSettings settings;
  settings.config = "conf";
  settings.options = {"-J", "gate"};
  auto const words = ssh_arguments(settings, {"me", "node1", 2222, 1});
  auto const place = [&](std::string_view word) { return std::ranges::find(words, word) - words.begin(); };
  auto const count = static_cast<std::ptrdiff_t>(words.size());
  EXPECT_LT(place("BatchMode=yes"), place("-J"));
  EXPECT_LT(place("StrictHostKeyChecking=yes"), place("-J"));
  EXPECT_LT(place("gate"), place("ConnectTimeout=10"));
  EXPECT_LT(place("ServerAliveInterval=15"), count);
  EXPECT_EQ(words[static_cast<std::size_t>(place("-F")) + 1], "conf");
  EXPECT_EQ((std::vector(words.end() - 7, words.end())),
            (std::vector<std::string>{"-l", "me", "-p", "2222", "--", "node1", "exec /bin/sh -s"}));
  settings.accept_new = true;
  auto const trusting = ssh_arguments(settings, {"", "node1", 0, 1});
  EXPECT_NE(std::ranges::find(trusting, "StrictHostKeyChecking=accept-new"), trusting.end());
  EXPECT_EQ(std::ranges::find(trusting, "-p"), trusting.end());
}

TEST(SshCommand, AShellTakesAQuotedTextAsOneWord) {
  launch_test::TempFolder folder;
  for (std::string const text : {"", "a b", "it's", "$HOME `x` \\ \" ! *", "-n", "two\nlines"}) {
    EXPECT_EQ(output_of(concat("{ printf '<%s>' ", shell_quoted(text), "; }\n"), folder.path().string()),
              concat('<', text, '>'));
  }
}

TEST(SshCommand, WhatSshSaysComesWithTheWayOut) {
  SshHost const host{"me", "node1", 2222, 1};
  auto const says = [&](std::string_view text, std::string_view part) {
    auto const explained = explain_ssh(host, text);
    EXPECT_NE(explained.find(part), std::string::npos) << explained;
  };
  says("Warning\nHost key verification failed.\r\n",
       "Host key verification failed.  -> its key is not known here: check it once with ssh -p 2222 me@node1, or give");
  says("REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.", "ssh-keygen -R");
  says("me@node1: Permission denied (publickey).", "ssh-copy-id -p 2222 me@node1");
  says("ssh: Could not resolve hostname node1: Name or service not known", "check the name in the hostfile");
  says("ssh: connect to host node1 port 2222: Connection refused", "is sshd running, on this port?");
  says("ssh: connect to host node1 port 2222: Connection timed out", "is the host up");
  says("", "ssh said nothing  -> try: ssh -p 2222 me@node1");
}

TEST(SshCommand, FoldersAreBelowHomeAndMayNameTheNode) {
  EXPECT_EQ(remote_folder("~/jobs/{node}/{node}", 3), "jobs/3/3");
  EXPECT_EQ(remote_folder("/data", 3), "/data");
  EXPECT_EQ(remote_folder("-rf", 0), "./-rf");
}

TEST(SshCommand, TheProbeTellsWhatIsThere) {
  launch_test::TempFolder folder;
  EXPECT_EQ(output_of(probe_script("no such prrun", "."), folder.path().string()),
            "prdist tar\nprdist workspace\nprdist probed\n");
  launch_test::write_file(folder / "good", "#!/bin/sh\necho prdist 9, compiled with\necho more\n");
  launch_test::write_file(folder / "bad", "#!/bin/sh\necho lib.so: no such file >&2\nexit 127\n");
  for (auto const* const name : {"good", "bad"}) ::chmod((folder / name).c_str(), 0755);
  EXPECT_EQ(output_of(probe_script("./good", "nowhere"), folder.path().string()),
            "prdist tar\nprdist version prdist 9, compiled with\nprdist probed\n");
  EXPECT_EQ(output_of(probe_script("./bad", "nowhere"), folder.path().string()),
            "prdist tar\nprdist broken lib.so: no such file\nprdist probed\n");
}

TEST(SshCommand, ABrokenCopyIsTakenAwayAgain) {
  launch_test::TempFolder folder;
  auto const text = output_of(copy_script("it's", "it's/JOB1", true), folder.path().string(), "no tar at all");
  EXPECT_TRUE(text.starts_with("prdist send\n")) << text;
  EXPECT_EQ(text.find("prdist copied"), std::string::npos) << text;
  EXPECT_TRUE(std::filesystem::is_directory(folder / "it's"));
  EXPECT_FALSE(std::filesystem::exists(folder / "it's/JOB1"));
  std::filesystem::create_directory(folder / "it's/JOB1");
  auto const again = output_of(copy_script("it's", "it's/JOB1", true), folder.path().string());
  EXPECT_NE(again.find("File exists"), std::string::npos) << again;
}

TEST(SshCommand, LogsAreSentWithTheirSizeAndNoMoreThanTheEndOfThem) {
  launch_test::TempFolder folder;
  launch_test::write_file(folder / "serverlog.0", "0123456789");
  launch_test::write_file(folder / "workerlog.1", "");
  EXPECT_EQ(output_of(gather_script(folder.path().string(), {"serverlog.0", "missing", "workerlog.1"}, 4), "/"),
            "prdist file serverlog.0 4\n6789prdist file workerlog.1 0\n\nprdist gathered\n");
}
