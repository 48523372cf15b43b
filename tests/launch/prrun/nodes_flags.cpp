// SPDX-License-Identifier: Apache-2.0
// The flags of a job on several nodes, and the command that the first node prints.
#include "node_fixture.hpp"
#include "nodes.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::shows;
using launch_test::TempFolder;
using launch_test::Words;
using prdist::concat;

// As Paddle's document has it: the first node prints the command for the others.
TEST(PrrunNodesInvite, TheFirstNodePrintsTheCommandForTheOthers) {
  Prrun first(
      {"--nnodes=2", "--host", "127.0.0.1", "--rank", "0", "--", "sh", "-c", "echo it\\'s trainer $PADDLE_TRAINER_ID"});
  std::string const dashes(80, '-');
  ASSERT_TRUE(shows(first.folder() / "stdout", dashes + "\n")) << read_file(first.folder() / "stderr");
  ASSERT_TRUE(shows(first.folder() / "stderr", "1 of 2 nodes has come"));
  auto const text = read_file(first.folder() / "stdout");
  auto const head = concat("Copy the following command to other nodes to run.\n", dashes, '\n');
  ASSERT_TRUE(text.starts_with(head)) << text;
  auto const command = text.substr(head.size(), text.find('\n', head.size()) - head.size());
  EXPECT_TRUE(has(command, "/prrun --master 127.0.0.1:")) << command;
  EXPECT_TRUE(command.ends_with(" --nnodes=2 -- sh -c 'echo it\\'\\''s trainer $PADDLE_TRAINER_ID'")) << command;
  TempFolder folder;
  auto const pid = prdist::spawn({"/bin/sh",
                                  {"-c", concat("cd ", folder.path().string(), " && exec ", command, " >out 2>&1")},
                                  {"PATH=/usr/bin:/bin"},
                                  STDERR_FILENO,
                                  -1})
                       .value();
  EXPECT_EQ(launch_test::reap(pid), prdist::Ending{}) << read_file(folder / "out");
  EXPECT_EQ(first.finish().code(), 0);
  EXPECT_EQ(read_file(folder / "log/workerlog.1"), "it's trainer 1\n");
}

TEST(PrrunNodesInvite, WhatIsThisNodesOwnIsLeftOutAndWhatTheEnvironmentSaidIsPutIn) {
  prrun::NodesFlags flags;
  flags.nodes_text = "3";
  Words const words{"--host=10.0.0.4", "--rank", "0", "--server-num", "2", "--", "./train", "--rank", "5", "a b"};
  EXPECT_EQ(prrun::command_for_others("prrun", {"10.0.0.4", 2500}, flags, "ctr", words, 4),
            "prrun --master 10.0.0.4:2500 --nnodes 3 --job_id ctr --server-num 2 -- ./train --rank 5 'a b'");
}

TEST(PrrunNodesInvite, ShowsNoSecretAndIsOneLine) {
  prrun::NodesFlags flags;
  flags.nodes_text = "2";
  Words const words{"--nnodes",  "2",   "--", "./train",       "--token=abc", "PASSWORD=def",
                    "--api-key", "ghi", "sh", "a\n\tb'\\\x1b", "plain"};
  EXPECT_EQ(prrun::command_for_others("prrun", {"10.0.0.4", 2500}, flags, "default", words, 8),
            "prrun --master 10.0.0.4:2500 --nnodes 2 -- ./train '--token=***' 'PASSWORD=***' --api-key '***' sh "
            "$'a\\n\\tb\\'\\\\\\x1b' plain");
  Prrun first({"--nnodes=2", "--host", "127.0.0.1", "--wait", "0.2", "--", "true", "--token=abc123", "x_my-hidden_y"},
              {{"MY_TOKEN", "my-hidden"}});
  auto const finished = first.finish();
  EXPECT_TRUE(has(finished.out, " -- true '--token=***' 'x_***_y'\n")) << finished.out;
  EXPECT_TRUE(has(finished.error, "*** in this command stands for what is secret: fill it in on the other nodes"));
  for (auto const& text : {finished.out, finished.error}) {
    EXPECT_FALSE(has(text, "abc123") || has(text, "my-hidden")) << text;
  }
}

TEST(PrrunNodesFlags, WhatIsWrongIs64) {
  for (auto const& [words, message] : std::initializer_list<std::pair<Words, std::string>>{
           {{"--nnodes", "2", "--master", "etcd://etcd-svc", "true"},
            "--master: launcher: --master 'etcd://etcd-svc' has no port: write host:port"},
           {{"--nnodes", "2", "--master", "https://x:1", "true"},
            "--master: launcher: --master 'https://x:1' asks for TLS, which the first node's store does not speak: "
            "write host:port, for example 10.0.0.4:36000, or etcd://host:2379, with TLS etcds://"},
           {{"--nnodes", "2", "--master", "etcds://x:1", "--etcd_cert", "a", "true"},
            "--etcd_cert: needs --etcd_key too"},
           {{"--nnodes", "2", "--master", "etcds://x:1", "--etcd-key", "a", "true"},
            "--etcd_key: needs --etcd_cert too"},
           {{"--nnodes", "2", "--master", "etcd://x:1", "--etcd_cacert", "a", "true"},
            "--etcd_cacert: is for an etcd with TLS: --nnodes N --master etcds://host:port"},
           {{"--etcd_key", "a", "true"}, "--etcd_key: is for an etcd with TLS"},
           {{"--nnodes", "two", "true"}, "--nnodes: 'two' is not a number from 1 to 1024, nor LEAST:MOST of them"},
           {{"--nnodes", "4:2", "true"}, "--nnodes: '4:2' is not a number"},
           {{"--nnodes", "2", "--elastic_sync", "true"}, "--elastic_sync: needs a range, such as --nnodes 2:4"},
           {{"--nnodes", "2", "--rank", "2", "true"}, "--rank: 2 is not below --nnodes 2"}}) {
    auto const finished = launch_test::run_prrun(words);
    EXPECT_EQ(finished.code(), 64) << message;
    EXPECT_TRUE(has(finished.error, message)) << finished.error;
  }
}

// As Paddle has it: with lists nobody has to meet, however many nodes there are.
TEST(PrrunNodesFlags, ListsOfEndpointsNeedNoMeeting) {
  auto const finished = launch_test::run_prrun(
      {"--nnodes", "2", "--servers", "127.0.0.1:7001", "--trainers", "127.0.0.1:7002", "--dry_run", "true"});
  EXPECT_EQ(finished.code(), 0) << finished.error;
}

TEST(PrrunNodesFlags, AnAddressOfAnotherMachineIsRefused) {
  auto const finished = launch_test::run_prrun({"--nnodes", "2", "--host", "192.0.2.1", "true"});
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "no port of '192.0.2.1' can be bound, is it an address of this machine?"))
      << finished.error;
}
