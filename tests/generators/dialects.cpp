// SPDX-License-Identifier: Apache-2.0
// From files of every dialect to one JobSpec, and what is said about those that are none.
#include "dialects/dialect.hpp"

#include <prdist/core/text.hpp>

#include "dialects/aliases.hpp"
#include "keys.hpp"
#include "model_config.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

struct Read {
  std::optional<JobSpec> job;
  Diagnostics diagnostics;
};

Read read(std::string const& text, std::vector<Override> const& overrides = {}) {
  Read out;
  auto document = read_yaml(source(text), {}, out.diagnostics);
  if (document) out.job = read_job(std::move(*document), overrides, out.diagnostics);
  return out;
}

TEST(Dialect, TablesAreConsistent) {
  for (auto const& aliases : {engine_aliases(), flat_aliases()}) {
    for (auto const& alias : aliases) EXPECT_NE(find_key(alias.to), nullptr) << alias.from;
  }
  for (auto const& key : keys()) {
    EXPECT_EQ(find_key(key.path), &key) << key.path << " stands in the table twice";
    EXPECT_FALSE(key.about.empty()) << key.path;
    for (auto const& target : words(key.targets)) EXPECT_NE(find_target(target), nullptr) << key.path;
  }
}

TEST(Dialect, TheDocumentsFileAndItsAliases) {
  auto const plain = read(good("    memory: 4Gi\n"));
  ASSERT_TRUE(plain.job);
  EXPECT_EQ(plain.job->dialect, "engine");
  EXPECT_EQ(plain.job->backend.value, "k8s");
  EXPECT_EQ(plain.job->trainer_num.value, 2);
  EXPECT_EQ(plain.job->memory.value, "4Gi");
  auto const aliased = read(with(good("    mermory: 4Gi\n"), "trainer_num", "worker_num"));
  ASSERT_TRUE(aliased.job);
  EXPECT_EQ(aliased.job->trainer_num.value, 2);
  EXPECT_EQ(aliased.job->memory.value, "4Gi");
  EXPECT_EQ(codes(aliased.diagnostics), "PR024 PR024");
}

TEST(Dialect, BackendsInAnyCase) {
  for (auto const* const name : {"k8s", "K8S", "Kubernetes", "KUBERNETES"}) {
    EXPECT_EQ(read(with(good(), "k8s", name)).job->backend.value, "k8s") << name;
  }
  EXPECT_EQ(read(with(good(), "k8s", "PaddleCloud")).job->backend.value, "paddlecloud");
  EXPECT_EQ(read(with(good(), "k8s", "Mpi")).job->backend.value, "mpi");
}

TEST(Dialect, TheFlatFormOfPaddleRec18) {
  auto const got = read(
      "backend: PaddleCloud\ncluster_type: K8S\nconfig:\n  fs_name: afs://x\nsubmit:\n  job_name: a\n  k8s_trainers: "
      "3\n  k8s_ps_num: 2\n  k8s_cpu_cores: 4\n");
  ASSERT_TRUE(got.job);
  EXPECT_EQ(codes(got.diagnostics), "");
  EXPECT_EQ(got.job->dialect, "flat");
  EXPECT_EQ(got.job->cluster_type.value, "k8s");
  EXPECT_EQ(got.job->trainer_num.value, 3);
  EXPECT_EQ(got.job->server_num.value, 2);
  EXPECT_EQ(got.job->trainer_cpu.value, "4");
  EXPECT_EQ(got.job->fs_name.value, "afs://x");
}

TEST(Dialect, TheMpiFormOfMay2020AndItsWorkspace) {
  auto const got = read(
      "engine:\n  workspace: /w\n  backend: MPI\n  hdfs: {name: h, output: '{workspace}/o'}\n  package: {python: p}\n  "
      "submit: {hpc: c, nodes: 2}\n  job_scrpit: '{workspace}/job.sh'\n");
  ASSERT_TRUE(got.job);
  EXPECT_EQ(codes(got.diagnostics), "");
  EXPECT_EQ(got.job->dialect, "mpi2020");
  EXPECT_EQ(got.job->fs_output.value, "/w/o");
  EXPECT_EQ(got.job->job_script.value, "/w/job.sh");
}

TEST(Dialect, AllFaultsOfAFileInOneRun) {
  auto const got = read(
      "engine:\n  backend: k9s\n  jobname: x\n  submit:\n    server_num: two\n    trainer_num: 0\n    log_level: 017\n "
      "   memroy: 4Gi\n    hosts: a\n    env: [a]\n    elastic: 3\n");
  EXPECT_EQ(codes(got.diagnostics), "PR009 PR006 PR007 PR010 PR007 PR006 PR007 PR007 PR007");
  auto const all = got.diagnostics.sorted();
  EXPECT_EQ(all[0].help, "did you mean 'k8s'?");
  EXPECT_EQ(all[1].help, "'jobname' belongs below 'submit'");
  EXPECT_EQ(all[5].help, "did you mean 'memory'?");
  EXPECT_EQ(all[5].where.path, "submit.memroy");
}

TEST(Dialect, AKeyAtTheWrongLevelIsSentToItsPlace) {
  auto const got = read("engine:\n  backend: k8s\n  memory: 4Gi\n  submit:\n    namespace: x\n");
  EXPECT_EQ(codes(got.diagnostics), "PR006 PR006");
  EXPECT_TRUE(holds(got.diagnostics.sorted()[0].help, "belongs below 'submit'"));
  EXPECT_TRUE(holds(got.diagnostics.sorted()[1].help, "indent it less"));
}

TEST(Dialect, TwoSpellingsOfOneKeyContradict) {
  EXPECT_EQ(codes(read(good("    memory: 4Gi\n    mermory: 8Gi\n")).diagnostics), "PR024 PR004");
}

TEST(Dialect, FilesOfAnotherKindAreNamed) {
  auto const help = [](std::string const& text) {
    auto const got = read(text);
    EXPECT_FALSE(got.job);
    return codes(got.diagnostics) + ' ' + got.diagnostics.sorted()[0].message;
  };
  EXPECT_EQ(help("apiVersion: v1\nkind: Pod\n"), "PR025 this is a Kubernetes manifest already");
  EXPECT_EQ(help("train:\n  epochs: 1\n"), "PR025 this looks like a model's config.yaml");
  EXPECT_TRUE(holds(prgen({"check", "-"}, with(good(), "engine", "Engine")).err, "did you mean 'engine'?"));
  EXPECT_EQ(help("x: 1\n"), "PR025 there is neither 'engine:' nor 'backend:' at the top of the file");
  EXPECT_EQ(help("just words\n").substr(0, 5), "PR007");
  EXPECT_EQ(help("engine: 3\n").substr(0, 5), "PR007");
  EXPECT_EQ(help("engine:\n").substr(0, 5), "PR007");
}

TEST(Dialect, SetBeatsTheFileUnderAnySpelling) {
  auto const got =
      read(with(good("    mermory: 4Gi\n"), "trainer_num", "worker_num"), {{"submit.memory", "8Gi"},
                                                                           {"engine.submit.trainer_num", "5"},
                                                                           {"submit.server.cpu", "3"},
                                                                           {"submit.hosts", "[a, b]"}});
  ASSERT_TRUE(got.job);
  EXPECT_EQ(codes(got.diagnostics), "");
  EXPECT_EQ(got.job->memory.value, "8Gi");
  EXPECT_EQ(got.job->trainer_num.value, 5);
  EXPECT_EQ(got.job->server_cpu.value, "3");
  EXPECT_EQ(got.job->hosts.items.size(), 2U);
  auto const wrong = read(good(), {{"submit.memroy", "8Gi"}});
  EXPECT_EQ(codes(wrong.diagnostics), "PR006");
  EXPECT_EQ(wrong.diagnostics.sorted()[0].where.source->name, "--set submit.memroy");
}

TEST(ModelConfig, AllThreeForms) {
  auto const model = [](std::string const& text, Diagnostics& diagnostics) {
    auto const document = read_yaml(source(text, "config.yaml"), {}, diagnostics);
    return read_model_config(*document, diagnostics);
  };
  Diagnostics none;
  auto const plain = model("train:\n  trainer: {strategy: async, threads: 7}\n", none);
  EXPECT_EQ(plain.threads.value, 7);
  EXPECT_EQ(plain.strategy.value, "async");
  auto const runners = model(
      "mode: b\nrunner:\n- {name: a, device: cpu}\n- {name: b, device: GPU, fleet_mode: Collective}\nphase:\n- "
      "{thread_num: 3}\n- {thread_num: 9}\n",
      none);
  EXPECT_EQ(runners.device.value, "gpu");
  EXPECT_EQ(runners.fleet_mode.value, "collective");
  EXPECT_EQ(runners.threads.value, 9);
  auto const map = model("runner: {sync_mode: geo, thread_num: 4, use_gpu: true}\n", none);
  EXPECT_EQ(map.strategy.value, "geo");
  EXPECT_EQ(map.device.value, "gpu");
  EXPECT_EQ(codes(none), "");
  Diagnostics wrong;
  static_cast<void>(model("train:\n  trainer: {strategy: asinc, threads: 0}\n", wrong));
  EXPECT_EQ(codes(wrong), "PR009 PR010");
  for (auto const* const text :
       {"train:\n  trainer: {strategy: ssp}\n", "runner: {sync_mode: ssp}\n", "runner: {sync_mode: half_async}\n",
        "runner:\n- {name: a, distribute_strategy: ssp}\n"}) {
    Diagnostics strategies;
    EXPECT_TRUE(model(text, strategies).strategy.given) << text;
    EXPECT_EQ(codes(strategies), "") << text;
  }
}

TEST(ModelConfig, ASlipInAKeyIsNamedAndTheModelsOwnKeysAreNot) {
  auto const said = [](std::string const& text) {
    Diagnostics diagnostics;
    auto const document = read_yaml(source(text, "config.yaml"), {}, diagnostics);
    static_cast<void>(read_model_config(*document, diagnostics));
    std::string lines;
    for (auto const& one : diagnostics.sorted()) {
      lines += prdist::concat(name_of(one.severity), ' ', one.code, ' ', one.where.line, ' ', one.where.path, ": ",
                              one.message, "; ", one.help, '\n');
    }
    return lines;
  };
  EXPECT_EQ(said("train:\n  trainer:\n    thraeds: 7\n"),
            "warning PR006 3 train.trainer.thraeds: unknown key; did you mean 'threads'?\n");
  EXPECT_EQ(said("runner: {sync_mod: geo}\n"),
            "warning PR006 1 runner.sync_mod: unknown key; did you mean 'sync_mode'?\n");
  EXPECT_EQ(said("runner:\n- {name: a, devise: gpu}\n"),
            "warning PR006 2 runner.devise: unknown key; did you mean 'device'?\n");
  EXPECT_EQ(said("phase:\n- {tread_num: 2}\n"),
            "warning PR006 2 phase.tread_num: unknown key; did you mean 'thread_num'?\n");
  EXPECT_EQ(said("runer: {thread_num: 2}\n"), "warning PR006 1 runer: unknown key; did you mean 'runner'?\n");
  // PaddleRec's own, and one beside the word that it looks like.
  EXPECT_EQ(said("hyper_parameters: {optimizer: {class: Adam}}\n"
                 "runner: {use_gpu: false, use_xpu: false, epochs: 3, thread_num: 2, thread_nums: 2}\n"),
            "");
}

}  // namespace
