// SPDX-License-Identifier: Apache-2.0
// The table of keys as users rely on it: what is left out has the value that the manual names, and what a platform team
// asks for reaches the pods.
#include "keys.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <prdist/core/text.hpp>
#include <prdist/fleet/roles.hpp>

#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

std::string with_command(std::string const& extra = {}) {
  return with(good(extra), "  submit:", "  command: [./train]\n  submit:");
}

Json job_of(std::string const& file, std::vector<std::string> words = {"-"}) {
  auto const ran = prgen(std::move(words), file);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return documents_of(ran.out).back();
}

Json pod_of(std::string const& file) {
  return job_of(file)["spec"]["template"];
}

/// "PR017 message | help" of every error and warning.
std::string said(std::string const& file, Options const& options = {}, std::string const& config = {}) {
  Diagnostics diagnostics;
  static_cast<void>(load(source(file), config.empty() ? nullptr : source(config, "config.yaml"), options, diagnostics));
  std::string all;
  for (auto const& d : diagnostics.sorted()) all += d.code + ' ' + d.message + " | " + d.help + '\n';
  return all;
}

TEST(Keys, WhatIsLeftOutHasTheValueOfTheTable) {
  for (auto const& target : targets()) {
    Diagnostics diagnostics;
    Options const options{.backend = std::string(target.name)};
    auto const job = load(source(good()), nullptr, options, diagnostics);
    ASSERT_TRUE(job);
    for (auto const& key : keys()) {
      if (!key.plain_standard() || !key.is_for(target.name)) continue;
      bool const given = std::visit([&](auto member) { return (job->raw.*member).given; }, key.member);
      if (given) continue;
      if (auto const* const text = std::get_if<Text JobSpec::*>(&key.member)) {
        EXPECT_EQ((job->spec.**text).value, key.standard) << target.name << ' ' << key.path;
      } else if (auto const* const number = std::get_if<Number JobSpec::*>(&key.member)) {
        EXPECT_EQ(std::to_string((job->spec.**number).value), key.standard) << target.name << ' ' << key.path;
      } else {
        ADD_FAILURE() << key.path << " has a default that nothing fills in";
      }
    }
  }
}

TEST(Keys, TheSchemaNamesDefaults) {
  auto const schema = nlohmann::json::parse(prgen({"schema"}).out);
  auto const& submit = schema["anyOf"][0]["properties"]["engine"]["properties"]["submit"]["properties"];
  EXPECT_EQ(submit["memory"]["default"], "4Gi");
  EXPECT_EQ(submit["max_restart"]["default"], 3);
  EXPECT_EQ(submit["network_policy"]["default"], true);
  EXPECT_FALSE(submit["port"].contains("default"));
  EXPECT_TRUE(holds(submit["port"]["description"].get<std::string>(), "by default 30240; paddlejob 36000"));
}

TEST(Keys, APlatformsKeysReachObjectsAndPods) {
  auto const file = with_command(
      "    labels: {team: ads}\n    annotations: {example.com/owner: 'a, b'}\n    priority_class: batch\n"
      "    image_pull_policy: Never\n    workdir: /opt\n    cpu_limit: 3\n    run_as_user: 7\n    run_as_group: 8\n"
      "    writable_root: true\n    network_policy: false\n");
  for (auto const* const backend : {"k8s", "volcano", "paddlejob"}) {
    auto const ran = prgen({"-", "--backend", backend}, file);
    ASSERT_EQ(ran.code, 0) << ran.err;
    auto const objects = documents_of(ran.out);
    for (auto const& object : objects) {
      EXPECT_EQ(object["metadata"]["labels"]["team"], "ads") << backend << object["kind"];
      EXPECT_EQ(object["metadata"]["annotations"]["example.com/owner"], "a, b") << backend << object["kind"];
      EXPECT_NE(object["kind"], "NetworkPolicy");
    }
    auto const& spec = objects.back()["spec"];
    auto const& pod = spec.contains("tasks")    ? spec["tasks"][0]["template"]
                      : spec.contains("worker") ? spec["worker"]["template"]
                                                : spec["template"];
    EXPECT_EQ(pod["metadata"]["labels"]["team"], "ads");
    EXPECT_EQ(pod["metadata"]["annotations"]["example.com/owner"], "a, b");
    EXPECT_EQ(pod["spec"]["priorityClassName"], "batch");
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsUser"], 7);
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsGroup"], 8);
    EXPECT_EQ(pod["spec"]["securityContext"]["fsGroup"], 8);
    EXPECT_EQ(pod["spec"]["securityContext"]["runAsNonRoot"], true);
    auto const& container = pod["spec"]["containers"][0];
    EXPECT_EQ(container["imagePullPolicy"], "Never");
    EXPECT_EQ(container["workingDir"], "/opt");
    EXPECT_EQ(container["resources"]["limits"]["cpu"], "3");
    EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], false);
  }
  auto const volcano = job_of(file, {"-", "--backend", "volcano"});
  EXPECT_EQ(volcano["spec"]["plugins"]["svc"].back(), "--disable-network-policy=true");
  EXPECT_EQ(volcano["spec"]["priorityClassName"], "batch");
}

TEST(Keys, APlatformsKeysAreChecked) {
  EXPECT_TRUE(holds(said(with_command("    labels: {'a b': c}\n")), "PR011 'a b' is not the key of a label"));
  EXPECT_TRUE(holds(said(with_command("    labels: {a: 'b c'}\n")), "PR011 'b c' is not a label's value"));
  EXPECT_TRUE(holds(said(with_command("    labels: {app.kubernetes.io/instance: x}\n")), "PR023"));
  EXPECT_TRUE(
      holds(said(with_command("    annotations: {'a b': c}\n")), "PR011 'a b' is not the key of an annotation"));
  EXPECT_TRUE(holds(said(with_command("    annotations: {db-password: hunter2}\n")), "PR017 db-password"));
  EXPECT_TRUE(holds(said(with_command("    priority_class: High_Priority\n")), "PR011"));
  EXPECT_TRUE(holds(said(with_command("    image_pull_policy: Sometimes\n")), "PR009"));
  EXPECT_TRUE(holds(said(with_command("    workdir: opt\n")), "PR021"));
  EXPECT_TRUE(holds(said(with_command("    cpu: 4\n    cpu_limit: 2\n")), "PR014 the limit 2 is below the 4 cores"));
  EXPECT_TRUE(holds(said(with_command("    trainer: {cpu: 4, cpu_limit: 500m}\n")), "PR014 the limit 500m"));
  EXPECT_TRUE(holds(said(with_command("    cpu_limit: many\n")), "PR012"));
  EXPECT_TRUE(holds(said(with_command("    run_as_user: -1\n")), "PR010"));
  auto const root = with_command("    run_as_user: 0\n");
  EXPECT_TRUE(holds(said(root), "PR018 the processes are root"));
  EXPECT_EQ(pod_of(root)["spec"]["securityContext"]["runAsNonRoot"], false);
}

TEST(Keys, EachRoleMayRunACommandOfItsOwn) {
  auto const file = with_command("    server: {command: [serve, --all]}\n");
  auto const objects = documents_of(prgen({"-"}, file).out);
  auto const& servers = objects[objects.size() - 2]["spec"]["template"]["spec"]["containers"][0]["command"];
  auto const& trainers = objects.back()["spec"]["template"]["spec"]["containers"][0]["command"];
  EXPECT_EQ(servers, Json::array({"prrun", "k8s", "--", "serve", "--all"}));
  EXPECT_EQ(trainers, Json::array({"prrun", "k8s", "--", "./train"}));
  // A role without one runs the default, and that is said.
  EXPECT_TRUE(holds(said(good("    server: {command: [serve]}\n")), "the image has to bring prtrain"));
  EXPECT_EQ(said(good("    server: {command: [a]}\n    trainer: {command: [b]}\n")).find("prtrain"), std::string::npos);
}

TEST(Keys, AnEmptyCommandIsTheImagesEntrypoint) {
  auto const file = with(good(), "  submit:", "  command: []\n  submit:");
  for (auto const* const backend : {"k8s", "volcano", "paddlejob"}) {
    auto const ran = prgen({"-", "--backend", backend}, file);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out.find("command:"), std::string::npos) << backend << ": neither command nor probe";
    EXPECT_EQ(ran.err.find("prtrain"), std::string::npos);
  }
  EXPECT_TRUE(holds(said(with(file, "  submit:", "  launcher: prrun\n  submit:")),
                    "PR023 prrun cannot start the image's own entrypoint"));
  for (auto const* const backend : {"mpi", "local"}) {
    EXPECT_TRUE(holds(said(file, {.backend = backend}), "PR008 the command is empty"));
  }
  EXPECT_TRUE(holds(said(with(file, "[]", "['']")), "PR008 the command is empty"));
}

TEST(Keys, TheDefaultCommandIsSaidAndHowToGiveAnother) {
  for (auto const* const backend : {"k8s", "volcano", "paddlejob"}) {
    auto const ran = prgen({"-", "--backend", backend}, good());
    EXPECT_TRUE(holds(ran.err, "the image has to bring prtrain, which is not part of this release"));
    EXPECT_TRUE(holds(ran.err, "or the words behind --"));
    EXPECT_EQ(prgen({"-", "--backend", backend, "--", "./t"}, good()).err.find("prtrain"), std::string::npos);
  }
  for (auto const* const backend : {"mpi", "local"}) {
    EXPECT_TRUE(holds(said(good(), {.backend = backend}), "it takes prtrain, which is not part of this release"));
    EXPECT_TRUE(holds(said(good(), {.backend = backend}), "no -m config.yaml: the one beside the script"));
  }
  EXPECT_TRUE(holds(prgen({"init"}).out, "\n  command: [./train"));
}

TEST(Keys, LostSettingsAreNamedOnceWhenAFlagChoosesTheTarget) {
  auto const file = with_command("    time_limit: 60\n    secrets: [{env: A, secret: s, key: k}]\n");
  EXPECT_TRUE(holds(said(file, {.backend = "volcano"}), "PR022 means nothing for volcano | --backend volcano"));
  EXPECT_TRUE(holds(said(file, {.backend = "paddlejob"}), "PR022 means nothing for paddlejob"));
  EXPECT_TRUE(holds(said(file, {.backend = "local"}), "PR022 means nothing for local; so do submit.secrets"));
  EXPECT_TRUE(holds(said(file, {.backend = "mpi"}), "PR022 means nothing for mpi"));
  EXPECT_EQ(said(file, {.backend = "k8s"}).find("PR022"), std::string::npos);
  auto const volcano = with(file, "scheduler: default", "scheduler: volcano");
  EXPECT_TRUE(holds(said(volcano, {.backend = "k8s"}), "PR022 --backend k8s renders plain Kubernetes objects"));
}

TEST(Keys, UnknownTargetsAreAnErrorNotAThrow) {
  EXPECT_TRUE(holds(said(good(), {.backend = "slurm"}), "PR009 'slurm' is not known | one of: k8s, volcano"));
}

TEST(Keys, UnknownTargetsAreToldOfTheOneThatOnlyPrrunHas) {
  constexpr auto const* ssh = "; with prrun -b also ssh, which has the keys of mpi\n";
  EXPECT_TRUE(holds(said(good(), {.backend = "slurm"}), prdist::concat(" or local", ssh)));
  for (auto const* const name : {"slurm", "ssh"}) {
    EXPECT_TRUE(
        holds(said(with(good(), "backend: k8s", prdist::concat("backend: ", name))),
              prdist::concat("PR009 '", name,
                             "' is not known here | one of: k8s, volcano, paddlejob, mpi, paddlecloud, local", ssh)));
  }
  EXPECT_EQ(said(with_command("    image_pull_policy: Sometimes\n")).find("ssh"), std::string::npos);
}

/// The container's environment as the kubelet makes it for pod `index` of a Volcano task; no plugin's variables.
std::map<std::string, std::string> volcano_env(Json const& task, std::string const& index) {
  auto const name = prdist::concat("ctr-", task["name"].get<std::string>(), '-', index);
  std::map<std::string, std::string> env;
  for (auto const& entry : task["template"]["spec"]["containers"][0]["env"]) {
    auto& value = env[entry["name"].get<std::string>()];
    if (entry.contains("value")) {
      value = entry["value"].get<std::string>();
      if (value.starts_with("$(POD_NAME)")) value.replace(0, 11, env.at("POD_NAME"));
    } else {
      auto const field = entry["valueFrom"]["fieldRef"]["fieldPath"].get<std::string>();
      value = field == "metadata.name"                                   ? name
              : field == "metadata.annotations['volcano.sh/task-index']" ? index
                                                                         : "10.0.0.1";
    }
  }
  return env;
}

TEST(Keys, PodsOfVolcanoFindThemselvesWithoutPrrun) {
  auto const file = with(with_command(), "  submit:", "  launcher: none\n  submit:");
  auto const ran = prgen({"-", "--backend", "volcano"}, file);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(holds(ran.err, "it takes Volcano 1.9 or newer"));
  EXPECT_EQ(ran.out.find("prrun"), std::string::npos);
  auto const job = documents_of(ran.out).back();
  for (auto const& task : job["spec"]["tasks"]) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto const env = volcano_env(task, std::to_string(i));
      auto const roles = prdist::roles_from_env([&](std::string_view name) -> std::optional<std::string> {
        auto const found = env.find(std::string(name));
        return found == env.end() ? std::nullopt : std::optional(found->second);
      });
      EXPECT_EQ(roles.index, i);
      EXPECT_EQ(roles.role == prdist::Role::server, task["name"] == "pserver");
      EXPECT_EQ(to_string(roles.servers.at(1)), "ctr-pserver-1.ctr:30240");
    }
  }
}

TEST(Keys, SmallFaults) {
  EXPECT_EQ(said(with_command("    volumes: [{name: a, mount: /a, empty_dir: {}}]\n")).find("PR"), std::string::npos);
  EXPECT_TRUE(
      holds(said(with_command("    memory: 4\n")), "PR029 '4' is 4 bytes, less than a megabyte | write 4Gi or 4Mi"));
  EXPECT_TRUE(holds(said(with_command("    memory: 4m\n")), "PR029 '4m' is 4 thousandths of a byte | write 4Mi"));
  EXPECT_TRUE(holds(said(with_command("    memory: 1e-1\n")), "PR029 '1e-1' is not a whole number of bytes"));
  EXPECT_TRUE(holds(said(with_command("    ak: hunter2\n")), "PR017 a secret stands in the file"));
  auto const elastic = with(with(with_command("    elastic: {max: 4}\n    env: {PADDLE_ELASTIC_SERVER: 'etcd:2379'}\n"),
                                 "    server_num: 2\n", ""),
                            "  submit:", "  mode: collective\n  submit:");
  EXPECT_EQ(said(elastic, {.backend = "paddlejob"}).find("etcd"), std::string::npos);
  auto const blank = prgen({"check", "-"}, good("    memory:4Gi\n    storage: 10Gi\n"));
  EXPECT_TRUE(holds(blank.err, "<stdin>:9:11: error: this is not YAML: no blank stands behind the colon [PR001]"));
  EXPECT_TRUE(holds(said(good(), {.kube_minor = 21}), "Indexed Jobs are stable since Kubernetes 1.24"));
}

TEST(Keys, OlderClustersGetTheListThatTheirSchemaWants) {
  auto const rule = [](std::string const& version) {
    return job_of(with_command(), {"-", "--kube-version", version})["spec"]["podFailurePolicy"]["rules"][1];
  };
  for (auto const* const version : {"1.26", "1.28"}) EXPECT_EQ(rule(version)["onPodConditions"], Json::array());
  EXPECT_FALSE(rule("1.29").contains("onPodConditions"));
}

}  // namespace
