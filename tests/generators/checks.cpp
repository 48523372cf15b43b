// SPDX-License-Identifier: Apache-2.0
// What a cluster would refuse late, found early; and every code with its two files.
#include "checks.hpp"

#include <prdist/core/text.hpp>

#include "../data/temp_dir.hpp"
#include "catalogue.hpp"
#include "keys.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;
using prdist::concat;

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

std::string messages(std::string const& text, Options const& options = {}, std::string const& config = {}) {
  Diagnostics diagnostics;
  static_cast<void>(load(source(text), config.empty() ? nullptr : source(config, "config.yaml"), options, diagnostics));
  std::string all;
  for (auto const& d : diagnostics.sorted()) {
    all += d.code + ' ' + d.where.path + ": " + d.message + " | " + d.help + '\n';
  }
  return all;
}

Ran prgen_with_config(std::string const& config) {
  TempDir const folder;
  return prgen({"-", "-m", folder.file("config.yaml", config)}, good());
}

/// A file for `backend`, its first line of submit being `extra`.
std::string for_backend(std::string const& backend, std::string const& extra) {
  return with(with(good(extra), "k8s", backend), "    scheduler: default\n", "");
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

TEST(Checks, RetiredNumbersAreExplainedAndNotUsed) {
  for (auto const code : retired_codes) {
    auto const ran = prgen({"explain", std::string(code)});
    EXPECT_EQ(ran.code, 0);
    EXPECT_TRUE(holds(ran.out, std::string(code) + ": retired\n\nNo message carries this number, and none will.\n"));
    EXPECT_EQ(find_code(code), nullptr);
  }
  // There is no other hole in the numbers.
  EXPECT_EQ(catalogue().back().code, "PR0" + std::to_string(catalogue().size() + std::size(retired_codes)));
}

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
  EXPECT_EQ(found(good("    elastic: {min: 3}\n"), {.backend = "volcano"}), "PR010");
  EXPECT_EQ(found(good("    elastic: {min: 1, max: 1}\n"), {.backend = "volcano"}), "PR010 PR022");
  EXPECT_EQ(found(good("    elastic: {min: 1}\n"), {.backend = "volcano"}), "");
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

TEST(Checks, WhatPaddleOperatorDoesNotDo) {
  auto const collective =
      with(with(for_backend("paddlejob", "    elastic: {min: 1, max: 4}\n"), "    server_num: 2\n", ""),
           "  submit:", "  mode: collective\n  submit:");
  EXPECT_EQ(found(for_backend("paddlejob", "    elastic: {min: 1, max: 4}\n")), "PR023");
  EXPECT_TRUE(
      holds(messages(for_backend("paddlejob", "    elastic: {max: 4}\n")), "neither the servers nor their number"));
  EXPECT_EQ(found(collective), "");
  EXPECT_TRUE(holds(messages(collective), "etcd"));
  EXPECT_TRUE(holds(messages(collective + "    paddlejob_api: kubeflow.org\n"), "a list that is fixed"));
  EXPECT_EQ(found(for_backend("paddlejob", "    port: 36000\n    intranet: Service\n")), "");
  EXPECT_TRUE(holds(messages(for_backend("paddlejob", "    port: 9000\n    intranet: Service\n")),
                    "PR015 submit.port: paddle-operator writes port 36000 into every endpoint"));
  EXPECT_TRUE(holds(messages(for_backend("paddlejob", "    port: 9000\n")),
                    "PR015 submit.port: paddle-operator chooses the port"));
  EXPECT_EQ(found(for_backend("paddlejob", "    port: 9000\n    paddlejob_api: kubeflow.org\n")), "");
  EXPECT_EQ(found(for_backend("paddlejob", "    intranet: Host\n")), "PR018");
}

TEST(Checks, NoKeyIsDroppedInSilence) {
  auto const idle = [](std::string const& backend, std::string const& line, std::string const& why) {
    auto const text = for_backend(backend, "    " + line + '\n');
    EXPECT_EQ(found(text), "PR022") << backend << ' ' << line;
    EXPECT_TRUE(holds(messages(text), why));
  };
  idle("paddlejob", "time_limit: 60", "means nothing for paddlejob");
  idle("volcano", "time_limit: 60", "means nothing for volcano");
  idle("volcano", "elastic: {max: 4}", "means nothing for volcano");
  for (auto const* const backend : {"volcano", "paddlejob"}) {
    idle(backend, "nics: eth1", "without train_config_dir");
    idle(backend, "ports_num: 2", "without train_config_dir");
    idle(backend, "ports_num_for_sparse: 2", "without train_config_dir");
    idle(backend, "gpu_resource: amd.com/gpu", "without gpus");
  }
  idle("paddlejob", "max_restart: 5", "paddle-operator, which has no such setting");
  idle("paddlejob", "ttl: 5", "paddle-operator, which has no such setting");
  idle("paddlejob", "queue: research", "scheduler: volcano");
  auto const kubeflow = for_backend("paddlejob",
                                    "    paddlejob_api: kubeflow.org\n    clean_pod_policy: Never\n    with_gloo: 1\n"
                                    "    intranet: Service\n    max_restart: 5\n    ttl: 5\n");
  EXPECT_EQ(found(kubeflow), "PR022 PR022 PR022");
  EXPECT_TRUE(holds(messages(kubeflow), "means nothing for kubeflow.org"));
  EXPECT_TRUE(holds(messages(for_backend("local", "    port: 9000\n")), "submit.port: means nothing for local"));
}

TEST(Checks, TheLegacyProfileSaysWhatItLeavesOut) {
  Options const legacy{.profile = Profile::legacy};
  auto const text =
      "engine:\n  backend: k8s\n  job_name: ctr\n  command: [train]\n  submit:\n    server_num: 2\n    trainer_num: 2\n"
      "    docker_image: hub.example.com/ctr:1.0\n    cpu: 4\n    env: {A: b}\n    gpus: 1\n    port: 9000\n"
      "    volumes: [{name: a, mount: /a, pvc: x}]\n    service_account: sa\n    server: {memory: 8Gi}\n"
      "    queue: research\n    elastic: {min: 1}\n";
  auto const said = messages(text, legacy);
  for (auto const* const path :
       {"command", "submit.env", "submit.gpus", "submit.port", "submit.volumes", "submit.service_account",
        "submit.server.memory", "submit.queue", "submit.elastic.min"}) {
    EXPECT_TRUE(holds(said, concat("PR022 ", path, ": is not written by --profile legacy")));
  }
  EXPECT_EQ(said.find("submit.cpu"), std::string::npos);
  EXPECT_EQ(said.find("submit.server.cpu"), std::string::npos) << "handed down, not given";
  auto const as_shown = for_backend("paddlejob", "    paddlejob_api: batch.paddlepaddle.org\n    scheduler: default\n");
  EXPECT_EQ(found(with(as_shown, "  submit:", "  launcher: none\n  submit:"), legacy), "");
  EXPECT_EQ(found(with(as_shown, "batch.paddlepaddle.org", "kubeflow.org"), legacy), "PR022");
  auto const v2 =
      "engine:\n  backend: k8s\n  job_name: ctr\n  train_config_dir: a\n  submit:\n    server_num: 1\n"
      "    trainer_num: 2\n    docker_image: hub.example.com/ctr:1.0\n    volumes: [{name: a, mount: /a, pvc: x}]\n";
  EXPECT_EQ(found(v2, legacy), "PR022 PR022");
  EXPECT_TRUE(holds(messages(v2, legacy), "volumes with a host_path only"));
  EXPECT_TRUE(holds(messages(v2, legacy), "every pod is a server and a trainer"));
}

TEST(Checks, MountsThatCollide) {
  EXPECT_EQ(found(with(good(), "  submit:", "  job_path: /tmp/\n  submit:")), "PR023");
  EXPECT_EQ(found(with(good(), "  submit:", "  job_path: /\n  submit:")), "PR021");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: //, pvc: x}]\n")), "PR021");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a, host_path: /}]\n")), "PR018");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /dev/shm, pvc: x}]\n")), "");
  EXPECT_EQ(found(good("    gpus: 1\n    volumes: [{name: a, mount: /dev/shm/, pvc: x}]\n")), "PR023");
  EXPECT_EQ(found(good("    volumes: [{name: a, mount: /a, pvc: x}, {name: b, mount: /a/, pvc: x}]\n")), "PR023");
  auto const at_config = with(good(), "  submit:", "  job_path: /etc/prdist\n  submit:");
  EXPECT_EQ(found(at_config), "");
  EXPECT_TRUE(holds(messages(at_config, {}, "train: {epochs: 1}\n"), "PR023 job_path: something else is mounted"));
  auto const own = prgen({"-"}, with(good("    volumes: [{name: a, mount: /data/, pvc: x}]\n"),
                                     "  submit:", "  job_path: /data\n  submit:"));
  EXPECT_EQ(own.out.find("mountPath: \"/data\""), std::string::npos) << "the volume is the job's path";
}

TEST(Checks, WhatAnApiserverRefuses) {
  EXPECT_EQ(found(good("    tolerations: [{key: a, value: 'a b'}]\n")), "PR011");
  EXPECT_EQ(found(good("    secrets: [{env: A, secret: s, key: a b/c}]\n")), "PR011");
  auto const counted = [](std::string const& servers, std::string const& trainers) {
    return with(with(good(), "server_num: 2", "server_num: " + servers), "trainer_num: 2", "trainer_num: " + trainers);
  };
  EXPECT_EQ(found(counted("3000", "65536")), "");
  EXPECT_EQ(found(counted("65536", "65536")), "PR010 PR010");
  EXPECT_TRUE(holds(messages(counted("65536", "65536")), "131072 pods are more than one Job takes, which is 100000"));
  EXPECT_EQ(found(with(counted("3500", "2"), "ctr", "a-name-of-some-length")), "PR010");
  EXPECT_TRUE(holds(messages(with(counted("3500", "2"), "ctr", "a-name-of-some-length")), "a variable takes 131008"));
  EXPECT_EQ(found(good("    cpu: 999999999999999999999999\n")), "PR012");
  EXPECT_EQ(found(good("    memory: 100E\n")), "PR012");
}

TEST(Checks, WhoAProcessIsCannotBeOverridden) {
  EXPECT_EQ(found(good("    secrets: [{env: PADDLE_PORT, secret: s, key: k}]\n")), "PR023");
  for (auto const* const name :
       {"JOB_COMPLETION_INDEX", "VC_TASK_INDEX", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_CURRENT_ENDPOINT",
        "PADDLE_CURRENT_IP", "PADDLE_JOB_NAME", "PADDLE_IS_LOCAL", "JOB_NAMESPACE", "TRAIN_CONFIG_DIR"}) {
    EXPECT_EQ(found(good(concat("    env: {", name, ": x}\n"))), "PR023") << name;
  }
}

TEST(Checks, NamesThatMayBeginWithADigitOrHaveDots) {
  EXPECT_EQ(found(good("    service_account: 2sa.team\n    volumes: [{name: 1a, mount: /a, pvc: x}]\n"),
                  {.name_space = "1team"}),
            "");
  EXPECT_EQ(found(with(good(), "ctr", "1ctr")), "PR011");
}

TEST(Checks, WhatTheModelSaysIsHeard) {
  auto const said = [](std::string const& config, std::string const& extra = {}) {
    return messages(good(extra), {}, config);
  };
  EXPECT_TRUE(holds(said("runner: [{name: a, device: gpu}]\n"), "PR022 runner.device: the model wants GPUs"));
  EXPECT_EQ(said("runner: [{name: a, device: gpu}]\n", "    gpus: 1\n").find("wants GPUs"), std::string::npos);
  EXPECT_TRUE(holds(said("runner: {sync_mode: gpubox}\n"), "PR022 runner.sync_mode: the model wants GPUs"));
  EXPECT_TRUE(holds(said("runner: {sync_mode: heter}\n"), "heterogeneous workers are not rendered"));
  EXPECT_TRUE(holds(said("runner: [{name: a, fleet_mode: collective}]\n"), "collective, and the job has 2 servers"));
  EXPECT_TRUE(holds(said("train: {trainer: {threads: 016}}\n"), "PR007 train.trainer.threads"));
  auto const in_step =
      messages(for_backend("volcano", "    elastic: {min: 1}\n"), {}, "train: {trainer: {strategy: sync}}\n");
  EXPECT_TRUE(holds(in_step, "PR023 submit.elastic.min: trainers in step"));
  auto const merged = prgen_with_config("a: &a {threads: 7}\ntrain: {trainer: {<<: *a, x: !own y}}\n");
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_TRUE(holds(merged.out, "name: \"CPU_NUM\"\n          value: \"7\""));
  EXPECT_TRUE(holds(said("\n"), "is this the model's config.yaml?"));
}

TEST(Checks, PortsOfServersThatShareAHost) {
  Options const mpi{.backend = "mpi"};
  EXPECT_EQ(found(good("    hosts: [a]\n    port: 65532\n"), mpi), "");  // two servers of two ports each
  EXPECT_EQ(found(good("    hosts: [a]\n    port: 65533\n"), mpi), "PR015");
  EXPECT_EQ(found(good("    hosts: [a, b]\n    port: 65534\n"), mpi), "");
  EXPECT_EQ(found(good("    hosts: [a]\n    port: 65532\n    ports_num: 2\n"), mpi), "PR015");
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
  auto const local = with(for_backend("local", ""), "    docker_image: hub.example.com/ctr:1.0\n", "");
  EXPECT_EQ(found(with(local, "ctr", "a b")), "PR011");
  EXPECT_EQ(found(with(local, "trainer_num: 2", "trainer_num: 2000")), "PR010");
  EXPECT_EQ(found(with(with(local, "    server_num: 2\n", ""), "  submit:", "  mode: collective\n  submit:")), "PR023");
  EXPECT_EQ(found(local), "");
}

TEST(Checks, VolcanosRootQueueTakesNoJobs) {
  EXPECT_EQ(found(good("    queue: root\n"), {.backend = "volcano"}), "PR011");
}

TEST(Checks, PortsEndAt65535) {
  auto const v2 = with(good("    port: 65535\n    ports_num: 2\n"), "  submit:", "  train_config_dir: a\n  submit:");
  EXPECT_EQ(found(v2), "PR015");
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
  EXPECT_EQ(found("backend: PaddleCloud\ncluster_type: mpi\nconfig: {fs_name: a}\nsubmit: {files: x}\n"),
            "PR008 PR008");
  EXPECT_TRUE(holds(messages("backend: PaddleCloud\ncluster_type: mpi\nconfig: {fs_name: a, train_data_path: b}\n"
                             "submit: {files: x}\n"),
                    "PR008 config.output_path: is missing: where the output goes"));
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

TEST(Checks, TheLegacyProfileSaysWhatItDoesToSafetyAndConfig) {
  Options const legacy{.profile = Profile::legacy};
  auto const v2 =
      "engine:\n  backend: k8s\n  job_name: ctr\n  train_config_dir: a\n  submit:\n    trainer_num: 2\n"
      "    docker_image: hub.example.com/ctr:1.0\n    volumes: [{name: a, mount: /a, host_path: /x}]\n";
  EXPECT_EQ(found(v2, legacy), "PR018");
  EXPECT_TRUE(holds(messages(v2, legacy), "no security context"));
  EXPECT_TRUE(holds(messages(v2, legacy, "train: {epochs: 1}\n"), "PR022 : -m is not written by --profile legacy"));
  for (auto const* const backend : {"mpi", "local"}) {
    auto const said = messages(good(), {.backend = backend, .profile = Profile::legacy});
    EXPECT_TRUE(holds(said, concat("--profile legacy changes nothing for ", backend)));
  }
  TempDir const dir;
  auto const config = dir.file("my config.yaml", "train: {epochs: 1}\n");
  auto const volcano = prgen({"-", "--profile", "legacy", "--backend", "volcano", "-m", config}, good());
  EXPECT_TRUE(holds(volcano.err, concat("--from-file=config.yaml='", config, "'")));
}

}  // namespace
