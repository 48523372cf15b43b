// SPDX-License-Identifier: Apache-2.0
#include "secrecy.hpp"

#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

TEST(Secrecy, NamesThatUsuallyHoldASecret) {
  for (auto const* const name :
       {"MYSQL_PASSWORD", "DB_PASS", "PASS", "MYSQL_PWD", "MY_CREDENTIALS", "GITHUB_PAT", "KEY_PASSPHRASE", "AK", "SK",
        "S3_SECRET_KEY", "api-key", "HF_TOKEN", "FS_UGI", "AZURE_CREDENTIAL", "SSH_PRIVATE_KEY"}) {
    EXPECT_TRUE(sounds_secret(name)) << name;
    EXPECT_TRUE(holds_secret(name, "hunter2")) << name;
    EXPECT_FALSE(holds_secret(name, "")) << name;
  }
  for (auto const* const name : {"PWD", "OLDPWD", "BYPASS", "COMPASS", "TOKENIZERS_PARALLELISM", "PATH", "TASK", "RISK",
                                 "PASSES", "SECRETARY", "BREAK"}) {
    EXPECT_FALSE(sounds_secret(name)) << name;
  }
  EXPECT_FALSE(holds_secret("GOOGLE_APPLICATION_CREDENTIALS", "/var/run/key.json"));
  EXPECT_TRUE(holds_secret("MYSQL_PASSWORD", "/slash"));
}

TEST(Secrecy, AddressesWithAPassword) {
  EXPECT_TRUE(holds_secret("DATABASE", "mysql://u:hunter2@h"));
  EXPECT_TRUE(holds_secret("BROKERS", "a,amqp://u:p@w@h:5672/x"));
  for (auto const* const value : {"mysql://u@h", "http://h:80/a@b", "mysql://u:$(PASS)@h", "mysql://u:@h", "u:p@h"}) {
    EXPECT_FALSE(holds_secret("DATABASE", value)) << value;
  }
  EXPECT_TRUE(holds(prgen({"check", "-"}, good("    env: {URL: 'mysql://u:hunter2@h'}\n")).err, "PR017"));
}

/// Each of these has a fault on or near a line with a secret. No form of the diagnostics may show it.
TEST(Secrecy, NoDiagnosticShowsALineWithASecret) {
  auto const cloud = [](std::string const& submit) {
    return "backend: PaddleCloud\ncluster_type: mpi\nconfig: {fs_name: a}\nsubmit:\n" + submit;
  };
  for (auto const& [file, code] : std::vector<std::pair<std::string, std::string>>{
           {good("    ak: hunter2\n"), "PR017"},
           {good("    ak:\n      hunter2\n"), "PR017"},
           {good("    ak: |\n      hunter2\n"), "PR017"},
           {good("    ak: hunter2\n    ak: hunter2\n"), "PR004"},
           {good("    sk: [hunter2]\n"), "PR007"},
           {good("    sk:\n    - hunter2\n"), "PR007"},
           {good("    sk:\n      a: hunter2\n"), "PR007"},
           {good("  fs: {ugi: 'me,hunter2'}\n  hdfs: {ugi: 'me,hunter2'}\n"), "PR004"},
           {good("    env: {DB_PASS: hunter2, 2A: b}\n"), "PR020"},
           {good("    env: {secret: hunter2, 2A: b}\n"), "PR020"},
           {good("    env: {DB_PASS: [hunter2]}\n"), "PR007"},
           {good("    env: {DB_PASS:\n    hunter2, 2A: b}\n"), "PR020"},
           {good("    env: {URL: 'mysql://u:hunter2@h', 2A: b}\n"), "PR020"},
           {good("    env: DB_PASSWORD=hunter2\n"), "PR007"},
           {good("    env: [{name: DB_PASSWORD, value: hunter2}]\n"), "PR007"},
           {good("    env: {\"DB_PASSWORD\": hunter2, 2A: b}\n"), "PR020"},
           {good("    password: hunter2\n"), "PR006"},
           {good("    env:\n      DB_PASSWORD: \"hunter2\n"), "PR001"},
           {good("    env:\n      DB_PASSWORD: hunter2: x\n"), "PR001"},
           {good("    env:\n      DB_PASSWORD: !hunter2\n"), "PR005"},
           {good("    env:\n      DB_PASSWORD: *hunter2\n"), "PR001"},
           {cloud("  ak: hunter2\n"), "PR017"},
           {cloud("  ak: {b: hunter2}\n"), "PR007"}}) {
    for (auto const* const form : {"text", "json", "github", "sarif"}) {
      auto const ran = prgen({"check", "-", std::string("--diagnostics=") + form}, file);
      EXPECT_TRUE(holds(ran.err, code)) << file;
      EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << file << ran.err;
    }
  }
  for (auto const* const set : {"submit.ak=hunter2", "submit.sk=[hunter2]", "submit.sk=\"hunter2",
                                "submit.env.DB_PASS=hunter2", "submit.env.DB_PASS={hunter2"}) {
    auto const ran = prgen({"check", "-", "--set", set}, good());
    EXPECT_FALSE(ran.err.empty()) << set;
    EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << set << ran.err;
  }
}

/// An anchor ties the value of an innocent key to a secret one; each file has a fault at the former.
TEST(Secrecy, NoDiagnosticShowsASecretBehindAnAnchor) {
  for (auto const& [extra, code] : std::vector<std::pair<std::string, std::string>>{
           {"    memory: &p hunter2\n    env: {DB_PASSWORD: *p}\n", "PR012"},
           {"    env: {DB_PASSWORD: &p hunter2}\n    memory: *p\n", "PR012"},
           {"    env: {DB_PASSWORD: &p hunter2}\n    scheduling: *p\n", "PR006"},
           {"    env: {DB_PASSWORD: &p hunter2}\n    discovery: *p\n", "PR009"},
           {"    env: {DB_PASSWORD: &p hunter2}\n    *p : 1\n", "PR006"},
           {"    env: {DB_PASSWORD: &p hunter2}\n    *p : 1\n    *p : 2\n", "PR004"},
           {"    memory: &p {a: hunter2}\n    env: {DB_PASSWORD: *p}\n", "PR007"},
           {"    memory: &p\n      a: hunter2\n    ak: *p\n", "PR007"},
           {"    memory: &p\n    - &q hunter2\n    grace: &r [*q]\n    ak: *r\n", "PR007"},
           {"    queue: &p 'hunter2\n    ak: *p\n", "PR001"},
           {"    memory: &p hunter2: x\n    ak: *p\n", "PR001"}}) {
    for (auto const* const form : {"text", "json", "github", "sarif"}) {
      auto const ran = prgen({"check", "-", std::string("--diagnostics=") + form}, good(extra));
      EXPECT_EQ(ran.code, 1);
      EXPECT_TRUE(holds(ran.err, code)) << extra;
      EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << extra << ran.err;
    }
  }
  auto const said = prgen({"check", "-"}, good("    memory: &p hunter2\n    env: {DB_PASSWORD: *p}\n")).err;
  EXPECT_TRUE(holds(said, "submit.memory: '***' is not a quantity"));
}

TEST(Secrecy, AnchorsThatHoldNoSecretAreShown) {
  auto const ran = prgen({"check", "-"}, good("    memory: &p 4GiB\n    storage: *p\n    env: {DB_PASSWORD: x}\n"));
  EXPECT_TRUE(holds(ran.err, "memory: &p 4GiB"));
  EXPECT_TRUE(holds(ran.err, "storage: *p"));
  EXPECT_TRUE(holds(ran.err, "'4GiB' is not a quantity"));
}

TEST(Secrecy, ManyAnchorsCostLittle) {
  std::string file = "a: &p 1\n";
  for (int i = 0; i < 40'000; ++i) file += "b" + std::to_string(i) + ": *p\n";
  auto const ran = prgen({"check", "-", "--max-errors=0"}, file);
  EXPECT_EQ(ran.code, 1);
}

TEST(Secrecy, OtherLinesAreShown) {
  for (auto const& [extra, line] : std::vector<std::pair<std::string, std::string>>{
           {"    volumes: [{name: a, mount: a, secret: s}]\n", "secret: s"},
           {"    secrets: [{env: DB_PASSWORD, secret: S_, key: password}]\n", "secret: S_"},
           {"    secrets:\n    - env: DB_PASSWORD\n      secret: S_\n      key: k\n", "secret: S_"},
           {"    env:\n      A: b\n      2A: b\n", "2A: b"},
           {"    memory: 4GiB\n", "memory: 4GiB"}}) {
    auto const ran = prgen({"check", "-"}, good(extra));
    EXPECT_TRUE(holds(ran.err, line + "")) << extra;
    EXPECT_TRUE(holds(ran.err, "^")) << ran.err;
  }
}

TEST(Secrecy, CommandsAreNoPlaceForASecret) {
  for (auto const* const command :
       {"[./train, --password=hunter2]", "[./train, --sk, hunter2]", "[env, DB_PASSWORD=hunter2, ./train]",
        "[./train, 'mysql://u:hunter2@h']", "[./train, --api-key, hunter2]", "[./train, -token, hunter2]",
        "\n    - ./train\n    - --sk\n    - hunter2"}) {
    auto const file = with(good(), "  submit:", std::string("  command: ") + command + "\n  submit:");
    auto const ran = prgen({"-"}, file);
    EXPECT_EQ(ran.code, 1) << command;
    EXPECT_TRUE(holds(ran.err, "a secret stands in the command"));
    EXPECT_TRUE(holds(ran.err, "submit.secrets"));
    EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << ran.err;
    auto const legacy = prgen({"check", "-", "--profile", "legacy", "--backend", "paddlejob"}, file);
    EXPECT_EQ(legacy.code, 0) << legacy.err;
    EXPECT_TRUE(holds(legacy.err, "PR017"));
  }
  for (auto const* const command :
       {"[./train, --password=$(DB_PASSWORD)]", "[./train, --password-file=/run/x]", "[./train, --token]",
        "[./train, --sk, --verbose]", "[./train, --tokens, '3']", "[./train, token, x]"}) {
    auto const ran = prgen({"-"}, with(good(), "  submit:", std::string("  command: ") + command + "\n  submit:"));
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  EXPECT_EQ(prgen({"-", "--", "./train", "--sk", "hunter2"}, good()).code, 1);
  auto const cloud = prgen({"check", "-"},
                           "backend: PaddleCloud\ncluster_type: k8s\nconfig: {fs_name: a}\n"
                           "submit: {files: x, start_cmd: python t.py --password hunter2}\n");
  EXPECT_EQ(cloud.code, 1);
  EXPECT_TRUE(holds(cloud.err, "a secret stands in the command"));
  EXPECT_EQ(cloud.err.find("hunter2"), std::string::npos);
}

TEST(Secrecy, WhatIsPublishedWithConfigYamlIsLookedAt) {
  auto const with_config = [](std::string const& config) {
    Diagnostics diagnostics;
    static_cast<void>(load(source(good()), source(config, "config.yaml"), {}, diagnostics));
    return codes(diagnostics);
  };
  EXPECT_EQ(with_config("backend: PaddleCloud\ncluster_type: mpi\nconfig: {fs_ugi: 'u,p'}\nsubmit: {ak: a, sk: b}\n"),
            "PR025");
  EXPECT_EQ(with_config("engine: {backend: k8s}\n"), "PR025");
  EXPECT_EQ(with_config("train: {db: {password: hunter2}}\n"), "PR017");
  EXPECT_EQ(with_config("runner:\n- {sk: hunter2}\n"), "PR017");
  EXPECT_EQ(with_config("data: 'hdfs://u:hunter2@h/x'\n"), "PR017");
  EXPECT_EQ(with_config("train: {password: $(DB_PASSWORD)}\n"), "");
  Diagnostics diagnostics;
  static_cast<void>(load(source(good()), source("pad_token: x\n", "config.yaml"), {}, diagnostics));
  EXPECT_EQ(codes(diagnostics), "PR017");
  EXPECT_FALSE(diagnostics.failed()) << "a vocabulary may have such a word";
}

}  // namespace
