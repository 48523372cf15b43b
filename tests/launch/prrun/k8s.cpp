// SPDX-License-Identifier: Apache-2.0
// prrun k8s as a container runs it: real processes, a real apiserver's protocol, several pods on one machine.
#include <atomic>
#include <list>
#include <tuple>

#include "../tls_server.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::run_prrun;
using launch_test::ServiceAccount;
using launch_test::TempFolder;
using launch_test::TlsServer;
using launch_test::write_file;
using prdist::concat;
namespace fs = std::filesystem;

namespace {

using Variables = Prrun::Variables;

/// A pod of an Indexed Job of prgen's: two servers, two trainers.
Variables indexed_pod(TempFolder const& folder, int index) {
  return {{"JOB_COMPLETION_INDEX", std::to_string(index)},
          {"PADDLE_PSERVERS_NUM", "2"},
          {"PADDLE_TRAINERS_NUM", "2"},
          {"PADDLE_PSERVERS_IP_PORT_LIST", "ctr-0.ctr:30240,ctr-1.ctr:30240"},
          {"PADDLE_PORT", "30240"},
          {"POD_IP", "10.0.0.7"},
          {"JOB_NAME", "ctr"},
          {"JOB_PATH", folder.path().string()},
          {"TMPDIR", folder.path().string()},
          {"PRDIST_TERMINATION_LOG", (folder / "cause").string()}};
}

/// The environment of the v2 document's Job, in a cluster whose apiserver is `server`.
Variables v2_pod(TempFolder const& shared, TempFolder const& own, TlsServer const& server,
                 ServiceAccount const& account, std::string const& name) {
  return {{"JOB_NAME", "job"},
          {"JOB_PATH", shared.path().string()},
          {"JOB_NAMESPACE", "default"},
          {"TRAIN_CONFIG_DIR", "recommendation"},
          {"CONF_PADDLE_NIC", "eth0"},
          {"CONF_PADDLE_PORT", "7164"},
          {"CONF_PADDLE_PORTS_NUM", "2"},
          {"CONF_PADDLE_PORTS_NUM_SPARSE", "2"},
          {"CONF_PADDLE_GRADIENT_NUM", "3"},
          {"HOSTNAME", name},
          {"TMPDIR", own.path().string()},
          {"https_proxy", "http://127.0.0.1:1"},
          {"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
          {"KUBERNETES_SERVICE_PORT_HTTPS", server.port()},
          {"PRDIST_SERVICE_ACCOUNT", account.path().string()},
          {"PRDIST_TERMINATION_LOG", (own / "cause").string()}};
}

std::string pod_json(std::string const& name, std::string const& ip, std::string const& phase = "Running",
                     std::string const& more = "") {
  return concat(R"({"metadata":{"name":")", name, R"("},"status":{"phase":")", phase, R"(","podIP":")", ip, '"', more,
                "}}");
}

}  // namespace

TEST(PrrunK8s, APodOfAnIndexedJobIsWhatItsIndexSays) {
  for (auto const& [index, expected, log] :
       std::vector<std::tuple<int, std::string, std::string>>{{1, "PSERVER 1 ctr-1.ctr 30240", "node_1/server.log"},
                                                              {3, "TRAINER 1 10.0.0.7 30240", "node_1/train.log"}}) {
    TempFolder folder;
    Prrun prrun(folder,
                {"k8s", "--", "sh", "-c",
                 "echo $TRAINING_ROLE $PADDLE_PSERVER_ID$PADDLE_TRAINER_ID $POD_IP $PADDLE_PORT; "
                 "test $PADDLE_PSERVERS_IP_PORT_LIST = ctr-0.ctr:30240,ctr-1.ctr:30240"},
                indexed_pod(folder, index));
    auto const finished = prrun.finish();
    EXPECT_EQ(finished.code(), 0) << finished.error;
    EXPECT_EQ(finished.out, expected + "\n");
    EXPECT_EQ(read_file(folder / ("ctr/output/" + log)), expected + "\n");
    EXPECT_FALSE(fs::exists(folder / "cause")) << "success has no cause";
  }
}

// PaddleRec's set_k8s_env.sh ends with 0 when too many trainers failed; Paddle's launcher with the bare signal number.
TEST(PrrunK8s, CodesArePassedOnByTheContract) {
  for (auto const& [script, code, cause] : std::vector<std::tuple<std::string, int, std::string>>{
           {"exit 0", 0, ""},
           {"echo broken; exit 7", 7, "trainer 0 ended with exit code 7 after "},
           {"exit 75", 75, "trainer 0 ended with exit code 75 after "},
           {"kill -9 $$", 137, "trainer 0 was killed by SIGKILL after "}}) {
    TempFolder folder;
    auto const finished = Prrun(folder, {"k8s", "--", "sh", "-c", script}, indexed_pod(folder, 2)).finish();
    EXPECT_EQ(finished.code(), code) << script << finished.error;
    auto const written = fs::exists(folder / "cause") ? read_file(folder / "cause") : "";
    EXPECT_TRUE(written.starts_with(cause)) << written;
    EXPECT_LE(std::ranges::count(written, '\n'), 1);
  }
}

TEST(PrrunK8s, TheTimeLimitIs124) {
  TempFolder folder;
  auto const finished =
      Prrun(folder, {"k8s", "--timeout", "0.2", "--grace", "1", "--", "sleep", "1000"}, indexed_pod(folder, 2))
          .finish();
  EXPECT_EQ(finished.code(), 124) << finished.error;
  EXPECT_TRUE(read_file(folder / "cause").starts_with("the job passed its time limit")) << read_file(folder / "cause");
}

// What the kubelet does to a pod that it evicts: an early end is no success, even when the program says so.
TEST(PrrunK8s, AnEvictedTrainerThatSavedIs143) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "mail");
  Prrun prrun(folder,
              {"k8s", "--", "sh", "-c", "trap 'echo saved; exit 0' TERM; echo up >>mail; while :; do sleep 0.01; done"},
              indexed_pod(folder, 2));
  EXPECT_EQ(mailbox.next(), "up");
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 143) << finished.error;
  EXPECT_TRUE(has(finished.out, "saved\n"));
  EXPECT_TRUE(has(finished.error, " SIGTERM: SIGTERM to all that is left, which has up to 110 s (--grace) for a last "))
      << finished.error;
  EXPECT_TRUE(read_file(folder / "cause").starts_with("the job was stopped by SIGTERM"));
}

TEST(PrrunK8s, AnEvictedTrainerThatHadToBeKilledIs137) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "mail");
  Prrun prrun(folder,
              {"k8s", "--grace", "0.2", "--", "sh", "-c", "trap '' TERM; echo up >>mail; while :; do sleep 0.01; done"},
              indexed_pod(folder, 2));
  EXPECT_EQ(mailbox.next(), "up");
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137) << finished.error;
  auto const cause = read_file(folder / "cause");
  EXPECT_TRUE(has(cause, " was killed after 0.2 s of --grace: what it was saving is lost, raise --grace")) << cause;
}

TEST(PrrunK8s, SecretsStayOutOfTheTerminationLog) {
  TempFolder folder;
  auto variables = indexed_pod(folder, 2);
  variables["FS_PASSWORD"] = "hunter2";
  auto const finished =
      Prrun(folder, {"k8s", "--", "sh", "-c", "echo login with $FS_PASSWORD failed; exit 1"}, variables).finish();
  EXPECT_EQ(finished.code(), 1);
  auto const cause = read_file(folder / "cause");
  EXPECT_TRUE(cause.ends_with("train.log | login with *** failed\n")) << cause;
  EXPECT_FALSE(has(finished.error, "hunter2")) << "nor on the launcher's own lines";
}

TEST(PrrunK8s, WrongFlagsAndEnvironmentsAreFatalForTheJob) {
  TempFolder folder;
  Variables const variables{{"PRDIST_TERMINATION_LOG", (folder / "cause").string()}};
  for (auto const& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"k8s"}, "a program is required"},
           {{"k8s", "--bogus", "true"}, "'--bogus' is not a flag of prrun"},
           {{"k8s", "--role", "master", "true"}, "--role"},
           {{"k8s", "--id", "1", "true"}, "--id: needs --role: an id counts within a role"},
           {{"k8s", "--wait", "soon", "true"}, "--wait: 'soon' is not a number of seconds"}}) {
    auto const finished = run_prrun(words, variables);
    EXPECT_EQ(finished.code(), 64) << message;
    EXPECT_TRUE(has(finished.error, message)) << finished.error;
    EXPECT_TRUE(has(finished.error, "\nTry: prrun k8s --help\n"));
    EXPECT_TRUE(has(read_file(folder / "cause"), message)) << read_file(folder / "cause");
  }
  auto const finished = run_prrun({"k8s", "true"}, variables);
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "PADDLE_TRAINERS_NUM is not set"));
  EXPECT_TRUE(read_file(folder / "cause").starts_with("prdist[config.missing] k8s: PADDLE_TRAINERS_NUM is not set"));
}

TEST(PrrunK8s, AnUnwritableJobPathIs78) {
  TempFolder folder;
  auto variables = indexed_pod(folder, 2);
  variables["JOB_PATH"] = "/dev/null";
  auto const finished = Prrun(folder, {"k8s", "true"}, variables).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "cannot be written, Not a directory: give another folder with --log_dir"))
      << finished.error;
}

TEST(PrrunK8s, TheProgramIsLookedFor) {
  TempFolder folder;
  auto const finished = Prrun(folder, {"k8s", "--", "no_such_program"}, indexed_pod(folder, 2)).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "there is no program 'no_such_program'")) << finished.error;
}

// The whole job of the v2 document: three pods, each a server and a trainer, ids by address, data by id.
TEST(PrrunK8s, TheV2DocumentsJobRuns) {
  TempFolder shared;
  fs::create_directories(shared / "job/recommendation");
  write_file(shared / "job/recommendation/train.sh", R"(#!/bin/sh
if [ $TRAINING_ROLE = PSERVER ]; then echo serving for $PADDLE_INIT_NUM_GRADIENT_SERVERS; exec sleep 1000; fi
echo trainer $PADDLE_TRAINER_ID of $PADDLE_INIT_PSERVERS reads $(cat data/part)
)");
  fs::permissions(shared / "job/recommendation/train.sh", fs::perms::owner_all);
  for (int i = 0; i < 3; ++i) {
    // The first in the layout of start_paddle.py, the others in the document's.
    auto const data = i == 0 ? shared / "job/0/data" : shared / concat("job/data/", i);
    fs::create_directories(data);
    write_file(data / "part", concat("part of ", i));
  }
  std::atomic<int> looks = 0;
  TlsServer server([&](std::string const& request) {
    EXPECT_TRUE(request.starts_with("GET /api/v1/namespaces/default/pods?labelSelector=job-name%3Djob ")) << request;
    bool const early = ++looks == 1;
    return TlsServer::Answer{
        200, concat(R"({"items":[)", pod_json("job-a", "10.0.0.10"), ',', pod_json("job-b", "10.0.0.9"), ',',
                    early ? pod_json("job-c", "", "Pending", R"(,"containerStatuses":[{"state":{"waiting":{"reason":
                                     "ErrImagePull"}}}])")
                          : pod_json("job-c", "10.0.0.100"),
                    "]}")};
  });
  ServiceAccount const account;
  std::list<TempFolder> folders;
  std::list<Prrun> pods;
  for (auto const* const name : {"job-a", "job-b", "job-c"}) {
    auto& own = folders.emplace_back();
    pods.emplace_back(own, std::vector<std::string>{"k8s", "--server_grace", "0.1", "--", "./train.sh"},
                      v2_pod(shared, own, server, account, name));
  }
  std::string errors;
  for (auto& pod : pods) {
    auto const finished = pod.finish();
    EXPECT_EQ(finished.code(), 0) << finished.error;
    errors += finished.error;
  }
  EXPECT_TRUE(has(errors, "waiting for pods with job-name=job: 2/3 pods run; job-c: Pending, ErrImagePull")) << errors;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_file(shared / concat("job/output/node_", i, "/train.log")),
              concat("trainer ", i, " of 10.0.0.9,10.0.0.10,10.0.0.100 reads part of ", i, '\n'));
    EXPECT_EQ(read_file(shared / concat("job/output/node_", i, "/server.log")), "serving for 3\n");
  }
}

TEST(PrrunK8s, PodsThatDoNotComeAreNamedAndTemporary) {
  TempFolder shared;
  TempFolder own;
  TlsServer server([](std::string const&) {
    return TlsServer::Answer{200, concat(R"({"items":[)", pod_json("job-a", "10.0.0.10"), "]}")};
  });
  ServiceAccount const account;
  auto const finished =
      Prrun(own, {"k8s", "--wait", "1", "--", "true"}, v2_pod(shared, own, server, account, "job-a")).finish();
  EXPECT_EQ(finished.code(), 75) << finished.error;
  EXPECT_TRUE(has(read_file(own / "cause"), "within 1 s, 1/3 pods run; 2 not created yet: look with kubectl describe"))
      << read_file(own / "cause");
}

TEST(PrrunK8s, WaitingForPodsCountsForTheTimeLimit) {
  TempFolder shared;
  TempFolder own;
  TlsServer server([](std::string const&) { return TlsServer::Answer{200, R"({"items":[]})"}; });
  ServiceAccount const account;
  auto const finished =
      Prrun(own, {"k8s", "--timeout", "0.5", "--", "true"}, v2_pod(shared, own, server, account, "job-a")).finish();
  EXPECT_EQ(finished.code(), 124) << finished.error;
  EXPECT_EQ(read_file(own / "cause"),
            "the job passed its time limit while it waited for pods: raise --timeout; the program was not started\n");
}

TEST(PrrunK8s, WaitingForPodsEndsOnSigterm) {
  TempFolder shared;
  TempFolder own;
  launch_test::Mailbox mailbox(own / "mail");
  TlsServer server([&](std::string const&) {
    write_file(own / "mail", "asked\n");
    return TlsServer::Answer{200, R"({"items":[]})"};
  });
  ServiceAccount const account;
  Prrun prrun(own, {"k8s", "--", "true"}, v2_pod(shared, own, server, account, "job-a"));
  EXPECT_EQ(mailbox.next(), "asked");
  prrun.signal(SIGTERM);
  EXPECT_EQ(prrun.finish().code(), 143);
  EXPECT_EQ(read_file(own / "cause"),
            "the job was stopped by SIGTERM while it waited for pods: the program was not started\n");
}

TEST(PrrunK8s, MissingTrainingFilesAreNamed) {
  TempFolder shared;
  TempFolder own;
  TlsServer server([](std::string const&) {
    return TlsServer::Answer{200, concat(R"({"items":[)", pod_json("job-a", "10.0.0.1"), ',', pod_json("b", "10.0.0.2"),
                                         ',', pod_json("c", "10.0.0.3"), "]}")};
  });
  ServiceAccount const account;
  auto const finished = Prrun(own, {"k8s", "--", "true"}, v2_pod(shared, own, server, account, "job-a")).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error,
                  concat("TRAIN_CONFIG_DIR='recommendation', but there is no folder '",
                         (shared / "job/recommendation").string(), "': put the training files there, or unset it")))
      << finished.error;
}

TEST(PrrunK8s, HelpStartsWithExamples) {
  auto const finished = run_prrun({"k8s", "--help"});
  EXPECT_EQ(finished.code(), 0);
  EXPECT_TRUE(finished.out.starts_with("Examples, as the command of a container:\n  prrun k8s -- prtrain"))
      << finished.out;
}
