// SPDX-License-Identifier: Apache-2.0
// What a cluster would refuse late, found early; and every code with its two files.
#include "checks.hpp"

#include "catalogue.hpp"
#include "keys.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

std::string found(std::string const& text, Options const& options = {}) {
  Diagnostics diagnostics;
  static_cast<void>(load(source(text), nullptr, options, diagnostics));
  return codes(diagnostics);
}

std::string first_message(std::string const& text, Options const& options = {}) {
  Diagnostics diagnostics;
  static_cast<void>(load(source(text), nullptr, options, diagnostics));
  auto const all = diagnostics.sorted();
  return all.empty() ? "" : all[0].message + " | " + all[0].help;
}

class EveryCode : public testing::TestWithParam<std::string> {};

TEST_P(EveryCode, IsShownByOneFileAndNotByTheOther) {
  auto const& entry = *find_code(GetParam());
  auto const flags = words(entry.flags);
  auto const check = [&](std::string_view file) {
    std::vector<std::string> arguments{"check", "-"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return prgen(arguments, std::string(file));
  };
  auto const failing = check(entry.failing);
  EXPECT_EQ(failing.code, entry.error ? 1 : 0) << failing.err;
  EXPECT_TRUE(holds(failing.err, '[' + std::string(entry.code) + ']'));
  EXPECT_TRUE(holds(failing.err, entry.error ? "error:" : "warning:"));
  EXPECT_TRUE(holds(failing.err, "help: "));
  auto const corrected = check(entry.corrected);
  EXPECT_EQ(corrected.code, 0) << corrected.err;
  EXPECT_EQ(corrected.err.find('[' + std::string(entry.code)), std::string::npos) << corrected.err;
  auto const explained = prgen({"explain", std::string(entry.code)});
  EXPECT_EQ(explained.code, 0);
  EXPECT_TRUE(holds(explained.out, std::string(entry.failing)));
  EXPECT_TRUE(holds(explained.out, std::string(entry.corrected)));
}

std::vector<std::string> all_codes() {
  std::vector<std::string> all;
  for (auto const& entry : catalogue()) all.emplace_back(entry.code);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryCode, testing::ValuesIn(all_codes()),
                         [](auto const& given) { return given.param; });

TEST(Checks, ACleanFileHasNothingSaidAboutIt) {
  EXPECT_EQ(found(good()), "");
}

TEST(Checks, NamesAreMeasuredWithTheirLongestIndex) {
  EXPECT_EQ(found(with(good(), "ctr", "a" + std::string(60, 'b'))), "");  // -3 makes 63
  EXPECT_EQ(found(with(good(), "ctr", "a" + std::string(61, 'b'))), "PR016");
  auto const many = with(with(good(), "trainer_num: 2", "trainer_num: 2000"), "ctr", "a" + std::string(58, 'b'));
  EXPECT_EQ(found(many), "PR016");
  Options volcano;
  volcano.backend = "volcano";
  EXPECT_EQ(found(with(good(), "ctr", "a" + std::string(60, 'b')), volcano), "PR016");
}

TEST(Checks, TheShippedNameGetsTheNameToWriteInstead) {
  EXPECT_TRUE(holds(first_message(with(good(), "ctr", "PaddleRec_CTR")), "write paddlerec-ctr"));
}

TEST(Checks, WhatIsThereButWrongIsNotAlsoMissing) {
  EXPECT_EQ(found(with(good(), "trainer_num: 2", "trainer_num: two")), "PR007");
  EXPECT_EQ(found(with(good(), "trainer_num", "trianer_num")), "PR006");
  EXPECT_EQ(found("engine:\n  backend: k8s\n  job_name: a\n  submit: none\n"), "PR007");
  EXPECT_EQ(found(with(good(), "k8s", "k9s")), "PR009");
}

TEST(Checks, ModesAndCounts) {
  EXPECT_EQ(found(with(good(), "    server_num: 2\n", "")), "PR008");
  EXPECT_EQ(found(with(good(), "server_num: 2", "server_num: 0")), "PR023");
  EXPECT_EQ(found(with(good(), "  submit:", "  mode: collective\n  submit:")), "PR023");
  EXPECT_EQ(found(with(with(good(), "    server_num: 2\n", ""), "  submit:", "  mode: collective\n  submit:")), "");
  EXPECT_EQ(found(with(with(good(), "    server_num: 2\n", ""), "  submit:", "  mode: single\n  submit:")), "PR023");
  EXPECT_EQ(found(with(with(good(), "    server_num: 2\n    trainer_num: 2\n", ""),
                       "  submit:", "  mode: single\n  submit:")),
            "");
}

TEST(Checks, ElasticRangesHoldTheCount) {
  EXPECT_EQ(found(good("    elastic: {min: 3, max: 4}\n"), {.backend = "volcano"}), "PR010");
  EXPECT_EQ(found(good("    elastic: {min: 1, max: 1}\n"), {.backend = "volcano"}), "PR010");
  EXPECT_EQ(found(good("    elastic: {min: 1, max: 4}\n"), {.backend = "volcano"}), "");
}

TEST(Checks, VolumesAndSecrets) {
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a}]\n")), "PR008");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a, pvc: x, secret: y}]\n")), "PR008");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a, pvc: x}, {name: a, mount: /a, pvc: x}]\n")), "PR023 PR023");
  EXPECT_EQ(found(good("    volumes: [{name: tmp, mount: /a, pvc: x}]\n")), "PR023");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a, pvc: X_Y}]\n")), "PR011");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a, empty_dir: big}]\n")), "PR012");
  EXPECT_EQ(found(good("    volumes: [{name: a, mont: /a, pvc: x}]\n")), "PR008 PR006");
  EXPECT_EQ(found(good("    secrets: [{env: A, secret: s}]\n")), "PR008");
  EXPECT_EQ(found(good("    secrets: [{env: 1A, secret: S_, key: k}]\n")), "PR020 PR011");
  EXPECT_EQ(found(good("    env: {A: b}\n    secrets: [{env: A, secret: s, key: k}]\n")), "PR023");
  EXPECT_EQ(found(good("    env: {TRAINING_ROLE: x}\n")), "PR023");
}

TEST(Checks, SecretsAreNotShownInMessages) {
  auto const ran = prgen({"check", "-"}, good("    env:\n      MYSQL_PASSWORD: hunter2\n"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(holds(ran.err, "PR017"));
  EXPECT_EQ(ran.err.find("hunter2"), std::string::npos);
}

TEST(Checks, NamesOutsideKubernetesAreNamesOfFolders) {
  for (auto const* const name : {"..", ".", "a/b", "/tmp", "\\e[2J"}) {
    auto const quoted = '"' + std::string(name) + '"';
    EXPECT_EQ(found("backend: PaddleCloud\ncluster_type: k8s\nconfig: {fs_name: a}\nsubmit: {files: x, job_name: " +
                    quoted + "}\n"),
              "PR011");
    EXPECT_EQ(found(with(good(), "ctr", quoted), {.backend = "mpi"}), "PR011");
  }
  EXPECT_EQ(found(with(good(), "ctr", "\"it's a job\""), {.backend = "mpi"}), "");
}

TEST(Checks, BatchSystemsOfMpiNeedTheirFiles) {
  Options const options{.backend = "mpi"};
  EXPECT_EQ(found(good("    hpc: /opt/hpc\n"), options), "PR008 PR008 PR008");
  EXPECT_EQ(found(good("    hpc: /opt/hpc\n    qconf: q\n    hdfs: a\n    hout: /out\n"), options), "");
  EXPECT_EQ(found(good("    hpc: /opt/hpc\n    qconf: ''\n    hdfs: a\n    hout: /out\n"), options), "PR008");
}

TEST(Checks, PlacementWords) {
  EXPECT_EQ(found(good("    tolerations: [{key: a, operator: Equals, effect: NoSchedul}]\n")), "PR009 PR009");
  EXPECT_EQ(found(good("    tolerations: [{operator: Exists}]\n")), "");
  EXPECT_EQ(found(good("    tolerations: [{effect: NoSchedule}]\n")), "PR008");
  EXPECT_EQ(found(good("    tolerations: [{key: a, operator: Exists, value: b}]\n")), "PR023");
  EXPECT_EQ(found(good("    node_selector: {'a b': c}\n")), "PR011");
  EXPECT_EQ(found(good("    node_selector: {a: 'c d'}\n")), "PR011");
  EXPECT_EQ(found(good("    gpus: 1\n    gpu_resource: gpu\n")), "PR011");
}

TEST(Checks, EnumsThatThePaddleJobForgets) {
  Options const options{.backend = "paddlejob"};
  EXPECT_EQ(found(good("    cleanPodPolicy: OnFailed\n"), options), "PR009");
  EXPECT_EQ(found(good("    intranet: Carrier\n"), options), "PR009");
  EXPECT_EQ(found(good("    withGloo: 3\n"), options), "PR010");
  EXPECT_EQ(found(good("    cleanPodPolicy: onfailure\n    intranet: podip\n"), options), "");
}

TEST(Checks, MachinesOfMpi) {
  Options const options{.backend = "mpi"};
  EXPECT_EQ(found(good("    hosts: [a, a]\n"), options), "PR028");
  EXPECT_EQ(found(good("    hosts: []\n"), options), "PR028");
  EXPECT_EQ(found(good("    hosts: [me@a, 'fe80::1']\n"), options), "PR028 PR028");
  EXPECT_EQ(found(good("    hosts: [a]\n    slots: 3\n"), options), "PR023");
  EXPECT_EQ(found(good("    hosts: [a]\n    slots: 4\n"), options), "");
}

TEST(Checks, ListingPodsNeedsANamespace) {
  EXPECT_EQ(found(good("    discovery: pods\n")), "PR008");
  EXPECT_EQ(found(good("    discovery: pods\n"), {.name_space = "training"}), "");
}

TEST(Checks, WhatPrrunWouldRefuse) {
  Options const options{.backend = "local"};
  EXPECT_EQ(found(with(good(), "ctr", "a b"), options), "PR011");
  EXPECT_EQ(found(with(good(), "trainer_num: 2", "trainer_num: 2000"), options), "PR010");
  EXPECT_EQ(found(with(with(good(), "    server_num: 2\n", ""), "  submit:", "  mode: collective\n  submit:"), options),
            "PR023");
  EXPECT_EQ(found(good(), options), "");
}

TEST(Checks, VolcanosRootQueueTakesNoJobs) {
  EXPECT_EQ(found(good("    queue: root\n"), {.backend = "volcano"}), "PR011");
}

TEST(Checks, PortsEndAt65535) {
  EXPECT_EQ(found(good("    port: 65535\n    ports_num: 2\n")), "PR015");
  EXPECT_EQ(found(good("    port: 65536\n")), "PR010");
}

TEST(Checks, AnOldFileIsToldWhatWasChosen) {
  auto const open = prgen({"-"}, with(good(), "    scheduler: default\n", ""));
  EXPECT_EQ(open.code, 0);
  EXPECT_TRUE(holds(open.err, "rendering plain Kubernetes objects"));
  EXPECT_TRUE(holds(open.err, "--backend volcano"));
  auto const said = prgen({"-", "--backend", "k8s"}, with(good(), "    scheduler: default\n", ""));
  EXPECT_EQ(said.err.find("rendering plain"), std::string::npos);
  EXPECT_TRUE(holds(prgen({"-"}, with(good(), "default", "volcano")).out, "batch.volcano.sh"));
}

TEST(Checks, PaddleCloudSaysWhatItLacks) {
  EXPECT_EQ(found("backend: PaddleCloud\n"), "PR008 PR008 PR008");
  EXPECT_EQ(found("backend: PaddleCloud\ncluster_type: mpi\nconfig: {fs_name: a}\nsubmit: {files: x}\n"), "PR008");
  EXPECT_EQ(found("backend: PaddleCloud\ncluster_type: k8s\nconfig: {fs_name: 'a\"b'}\nsubmit: {files: x}\n"), "PR002");
  Diagnostics diagnostics;
  auto const config = source("runner:\n- {name: a, device: gpu, fleet_mode: ps}\n", "config.yaml");
  static_cast<void>(load(source("backend: PaddleCloud\ncluster_type: k8s\nconfig: {fs_name: a}\nsubmit: {files: x}\n"),
                         config, {}, diagnostics));
  EXPECT_EQ(codes(diagnostics), "PR023");
}

TEST(Checks, ValuesFromFlagsAreCheckedAsText) {
  EXPECT_EQ(found(good(), {.command = {"a\xFF"}}), "PR002");
  EXPECT_EQ(found(good(), {.name_space = "Kube_System"}), "PR011");
}

}  // namespace
