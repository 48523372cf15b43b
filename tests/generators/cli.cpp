// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: words, streams, exit codes.
#include "cli.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <prdist/version.hpp>

#include "../data/temp_dir.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;

TEST(Cli, StdoutHasTheManifestOrNothing) {
  auto const right = prgen({"-"}, good());
  EXPECT_EQ(right.code, 0);
  EXPECT_TRUE(right.out.starts_with("---\napiVersion: v1\nkind: ServiceAccount\n"));
  EXPECT_TRUE(right.out.ends_with("\n"));
  auto const wrong = prgen({"-"}, good("    memory: 4GiB\n"));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.out, "");
  EXPECT_TRUE(holds(wrong.err,
                    "<stdin>:9:13: error: submit.memory: '4GiB' is not a quantity [PR012]\n      memory: 4GiB\n        "
                    "      ^~~~\n  help: write 4Gi\n"));
}

TEST(Cli, UsageFaultsEndWith2AndSayWhatToDo) {
  for (auto const& [words, text] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "which file?"},
           {{"check"}, "prgen check backend.yaml"},
           {{"-", "--backend", "k9s"}, "did you mean 'k8s'?"},
           {{"-", "--backend", "kubernets"}, "did you mean 'k8s'?"},
           {{"chek", "-"}, "did you mean 'prgen check'?"},
           {{"init", "volcano"}, "prgen init --backend volcano"},
           {{"schema", "b.yaml"}, "schema takes no words"},
           {{"completion", "bash", "zsh"}, "one word"},
           {{"-", "--live"}, "prgen diff backend.yaml --live"},
           {{"-", "--max-errors", "-1"}, "--max-errors"},
           {{"-", "--set", "x"}, "is not path=value"},
           {{"-", "--kube-version", "two"}, "write for example 1.29"},
           {{"-", "-o", "files"}, "-O DIR"},
           {{"-", "-O", "x"}, "-O needs -o files"},
           {{"-", "-"}, "stdin can be read once"},
           {{"-", "--frobnicate"}, "--help"},
           {{"-", "--profile", "unsafe"}, "profile"},
           {{"-", "--"}, "nothing stands behind --"},
           {{"explain", "PR999"}, "prgen explain lists all"},
           {{"completion"}, "bash, zsh or fish"},
           {{"diff"}, "diff takes two files, or one and --live"},
           {{"diff", "-"}, "diff takes two files, or one and --live"},
           {{"-", "--bakend", "k8s"}, "did you mean '--backend'?"},
           {{"-", "--diagnostic=json"}, "did you mean '--diagnostics'?"},
           {{"-", "--backend", "mpi"}, "-o files -O DIR"},
           {{"-", "--backend", "local", "-o", "json"}, "is a script"}}) {
    auto const ran = prgen(words, good());
    EXPECT_EQ(ran.code, 2) << text;
    EXPECT_EQ(ran.out, "") << text;
    EXPECT_TRUE(holds(ran.err, text));
  }
}

TEST(Cli, FilesThatCannotBeReadOrWrittenEndWith3) {
  TempDir const dir;
  EXPECT_EQ(prgen({(dir.path() / "absent.yaml").native()}).code, 3);
  EXPECT_EQ(prgen({dir.path().native()}).code, 3);
  EXPECT_EQ(prgen({"-", "-m", "absent.yaml"}, good()).code, 3);
  auto const file = dir.file("taken/job.yaml", "old");
  auto const out = (dir.path() / "taken").native();
  auto const refused = prgen({"-", "-o", "files", "-O", out}, good());
  EXPECT_EQ(refused.code, 3);
  EXPECT_TRUE(holds(refused.err, "--force"));
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(prgen({"-", "-o", "files", "-O", out, "--force"}, good()).code, 0);
  EXPECT_TRUE(holds(contents(file), "kind: Job"));
  EXPECT_EQ(prgen({"-", "-o", "files", "-O", file + "/below"}, good()).code, 3);
  std::istringstream in(good());
  std::ostringstream out_stream;
  std::ostringstream err;
  EXPECT_EQ(run({"-", "--template-dir", dir.path().native()}, in, out_stream, err, false), 3);
  EXPECT_EQ(out_stream.str(), "");
  EXPECT_TRUE(holds(err.str(), "k8s.yaml.inja"));
}

std::vector<std::string> below(std::filesystem::path const& folder) {
  std::vector<std::string> all;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) all.push_back(std::filesystem::relative(entry.path(), folder).native());
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Cli, NamesLeadNoFileOutOfTheFolder) {
  for (auto const* const target : {"k8s", "volcano", "paddlejob", "mpi", "local"}) {
    for (auto const* const name : {"..", ".", "'../..'", "/tmp", "'a/../../b'", "\"a\\nb\"", "''"}) {
      TempDir const dir;
      auto const bad = dir.file("bad.yaml", with(good(), "ctr", name));
      auto const fine = dir.file("fine.yaml", good());
      auto const out = (dir.path() / "out" / "below").native();
      auto const ran = prgen({bad, fine, "--backend", target, "-o", "files", "-O", out});
      EXPECT_EQ(ran.code, 1) << target << ' ' << name << ran.err;
      EXPECT_TRUE(holds(ran.err, "PR011"));
      EXPECT_EQ(below(dir.path()), (std::vector<std::string>{"bad.yaml", "fine.yaml"})) << target << ' ' << name;
    }
  }
}

TEST(Cli, JobsThatWouldShareAFolderAreRefusedBeforeAnyIsWritten) {
  TempDir const dir;
  auto const a = dir.file("a.yaml", with(good(), "  submit:", "  namespace: one\n  submit:"));
  auto const b = dir.file("b.yaml", with(good(), "  submit:", "  namespace: two\n  submit:"));
  auto const out = (dir.path() / "out").native();
  EXPECT_EQ(prgen({a, b}).code, 0);
  for (auto const* const flag : {"--force", "-q"}) {
    auto const ran = prgen({a, b, "-o", "files", "-O", out, flag});
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(holds(ran.err, "PR023"));
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  auto const nameless = with(good(), "  job_name: ctr\n", "");
  auto const c = dir.file("c.yaml", nameless);
  auto const d = dir.file("d.yaml", nameless);
  auto const unnamed = prgen({c, d, "--backend", "local", "-o", "files", "-O", out});
  EXPECT_EQ(unnamed.code, 1);
  EXPECT_TRUE(holds(unnamed.err, "several jobs get a folder each"));
  EXPECT_FALSE(std::filesystem::exists(out));
  // One file that is there already keeps all others from being written.
  auto const e = dir.file("e.yaml", with(good(), "ctr", "aaa"));
  dir.file("out/ctr/job.yaml", "old");
  EXPECT_EQ(prgen({e, a, "-o", "files", "-O", out}).code, 3);
  EXPECT_EQ(below(out), std::vector<std::string>{"ctr/job.yaml"});
  EXPECT_EQ(prgen({e, a, "-o", "files", "-O", out, "--force"}).code, 0);
  EXPECT_EQ(below(out), (std::vector<std::string>{"aaa/job.yaml", "ctr/job.yaml"}));
}

TEST(Cli, FilesAreNotWrittenThroughLinks) {
  TempDir const dir;
  auto const precious = dir.file("precious", "mine");
  auto const out = dir.path() / "out";
  std::filesystem::create_directories(out);
  std::filesystem::create_symlink(precious, out / "job.yaml.partial");
  EXPECT_EQ(prgen({"-", "-o", "files", "-O", out.native()}, good()).code, 0);
  EXPECT_EQ(contents(precious), "mine");
  EXPECT_FALSE(std::filesystem::is_symlink(out / "job.yaml"));
  std::filesystem::remove(out / "job.yaml");
  std::filesystem::create_symlink(dir.path() / "nowhere", out / "job.yaml");
  EXPECT_EQ(prgen({"-", "-o", "files", "-O", out.native()}, good()).code, 3);
  EXPECT_EQ(prgen({"-", "-o", "files", "-O", out.native(), "--force"}, good()).code, 0);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "nowhere"));
  std::filesystem::create_directories(out / "job.yaml.partial/x");
  auto const ran = prgen({"-", "-o", "files", "-O", out.native(), "--force"}, good());
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(holds(ran.err, "job.yaml.partial: cannot be written"));
}

TEST(Cli, AnEndlessFileIsNotReadToItsEnd) {
  auto const ran = prgen({"/dev/zero"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(holds(ran.err, "more than 1048576 bytes [PR003]"));
  EXPECT_EQ(prgen({"-", "-m", "/dev/zero"}, good()).code, 1);
  std::string const large(2 << 20, 'x');
  EXPECT_TRUE(holds(prgen({"-"}, large).err, "PR003"));
}

TEST(Cli, JsonIsAListOfTheSameObjects) {
  auto const json = nlohmann::json::parse(prgen({"-", "-o", "json"}, good()).out);
  EXPECT_EQ(json["kind"], "List");
  auto const documents = documents_of(prgen({"-"}, good()).out);
  ASSERT_EQ(json["items"].size(), documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) EXPECT_EQ(json["items"][i], documents[i]);
}

TEST(Cli, SeveralFilesAreSeveralJobs) {
  TempDir const dir;
  auto const a = dir.file("a.yaml", good());
  auto const b = dir.file("b.yaml", with(good(), "ctr", "other"));
  auto const both = prgen({a, "-f", b});
  EXPECT_EQ(both.code, 0);
  EXPECT_EQ(documents_of(both.out).size(), 8U);
  auto const twice = prgen({a, a});
  EXPECT_EQ(twice.code, 1);
  EXPECT_TRUE(holds(twice.err, "PR023"));
}

TEST(Cli, FlagsBeatTheFile) {
  auto const ran = prgen({"-", "-n", "training", "--set", "submit.memory=8Gi", "--", "./train", "--flag", "--", "x"},
                         good("    memory: 4Gi\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(holds(ran.out, "namespace: \"training\""));
  EXPECT_TRUE(holds(ran.out, "memory: \"8Gi\""));
  EXPECT_TRUE(holds(ran.out, "- \"./train\"\n        - \"--flag\"\n        - \"--\"\n        - \"x\"\n"));
}

TEST(Cli, SetTakesWordsAsTheyStand) {
  auto const comment = prgen({"-", "--set", "submit.env.X=a #b", "--set", "submit.env.Y=#c"}, good());
  EXPECT_EQ(comment.code, 0) << comment.err;
  EXPECT_TRUE(holds(comment.out, "value: \"a #b\""));
  EXPECT_TRUE(holds(comment.out, "value: \"#c\""));
  auto const nothing = prgen({"-", "--set", "submit.memory="}, good());
  EXPECT_EQ(nothing.code, 1);
  EXPECT_TRUE(holds(nothing.err, "--set submit.memory: nothing stands behind '=' [PR008]"));
  auto const other = prgen({"plan", "-", "--set", "submit.worker_num=3"}, good());
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(holds(other.out, "2 servers, 3 trainers"));
  EXPECT_EQ(prgen({"-", "--kube-version", "1.30+"}, good()).code, 0);
  EXPECT_EQ(prgen({"-", "--kube-version", "v1.30.2-gke.1"}, good()).code, 0);
}

TEST(Cli, WarningsCanBeErrorsOrSilent) {
  auto const file = with(good(), ":1.0", ":latest");
  EXPECT_EQ(prgen({"check", "-"}, file).code, 0);
  EXPECT_EQ(prgen({"check", "-", "--error-on-warning"}, file).code, 1);
  auto const strict = prgen({"-", "--error-on-warning"}, file);
  EXPECT_EQ(strict.out, "");
  TempDir const dir;
  auto const out = (dir.path() / "out").native();
  EXPECT_EQ(prgen({"-", "--error-on-warning", "-o", "files", "-O", out}, file).code, 1);
  EXPECT_FALSE(std::filesystem::exists(out)) << "files were written all the same";
  EXPECT_EQ(prgen({"-", "-q"}, file).err, "");
  EXPECT_TRUE(holds(prgen({"check", "-", "-q", "--error-on-warning"}, file).err, "PR019"));
  EXPECT_EQ(prgen({"check", "-"}, good()).err, "") << "a clean file has nothing said about it";
  EXPECT_EQ(prgen({"check", "-"}, good("    env: {A: b}\n") + "  command: [x]\n").out, "");
}

TEST(Cli, DiagnosticsAreOnStderrInEveryForm) {
  for (auto const* const form : {"text", "json", "github", "sarif"}) {
    auto const ran = prgen({"check", "-", std::string("--diagnostics=") + form}, good("    memory: 4GiB\n"));
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(holds(ran.err, "PR012"));
  }
}

TEST(Cli, HelpBeginsWithExamples) {
  auto const help = prgen({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.out.starts_with("Examples:\n  prgen backend.yaml | kubectl create -f -"));
  EXPECT_TRUE(holds(help.out, "Exit codes: 0 done"));
  EXPECT_TRUE(holds(help.out, "1.33 when not given"));
  for (auto const& target : targets()) EXPECT_TRUE(holds(help.out, std::string(target.name)));
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run({"help"}, in, out, err, false), 0);
  EXPECT_EQ(out.str(), help.out);
  EXPECT_EQ(prgen({"--version"}).out, "prgen " + std::string(prdist::version) + "\n");
}

TEST(Cli, PlanAddsUp) {
  auto const plan = prgen({"plan", "-"}, good("    memory: 4Gi\n    storage: 10Gi\n    cpu: 1500m\n"));
  EXPECT_EQ(plan.code, 0);
  EXPECT_TRUE(holds(plan.out, "4: 2 servers, 2 trainers"));
  EXPECT_TRUE(holds(plan.out, "6 cores, 16Gi memory, 40Gi storage"));
  EXPECT_TRUE(holds(plan.out, "ctr-3, 5 of 63"));
  EXPECT_TRUE(holds(plan.out, "rights        none"));
  auto const listing =
      prgen({"plan", "-", "--set", "submit.discovery=pods", "-n", "x", "--backend", "volcano"}, good("    gpus: 2\n"));
  EXPECT_TRUE(holds(listing.out, "pods: get list watch"));
  EXPECT_TRUE(holds(listing.out, "4 GPUs"));
  auto const mpi = prgen({"plan", "-", "--backend", "mpi"}, good());
  EXPECT_TRUE(holds(mpi.out, "start.sh"));
  auto const cloud = prgen({"plan", "-", "--set", "submit.cluster_type=k8s"},
                           "backend: PaddleCloud\nconfig: {fs_name: a}\nsubmit: {files: x}\n");
  EXPECT_EQ(cloud.code, 0) << cloud.err;
  EXPECT_EQ(cloud.out.find("ports"), std::string::npos) << cloud.out;
}

TEST(Cli, DiffNamesFieldsAndWhatCannotBeChanged) {
  TempDir const dir;
  auto const a = dir.file("a.yaml", good());
  auto const b = dir.file("b.yaml", good("    env: {A: b}\n    ttl: 60\n    memory: 8Gi\n"));
  auto const same = prgen({"diff", a, a});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "");
  auto const differs = prgen({"diff", a, b});
  EXPECT_EQ(differs.code, 1);
  EXPECT_TRUE(holds(differs.out, "~ Job/ctr spec.ttlSecondsAfterFinished: 86400 -> 60\n"));
  EXPECT_TRUE(holds(differs.out, "env[A]"));
  EXPECT_TRUE(holds(differs.out, "cannot be changed in place"));
  auto const added = prgen({"diff", a, dir.file("d.yaml", good("    env: {A: b}\n"))});
  EXPECT_TRUE(added.out.starts_with("+ Job/ctr spec.template")) << added.out;
  EXPECT_TRUE(holds(added.out, "cannot be changed in place"));
  auto const scripts = prgen({"diff", a, b, "--backend", "local"});
  EXPECT_EQ(scripts.code, 1);
  EXPECT_TRUE(holds(scripts.out, "run.sh line["));
  EXPECT_EQ(scripts.out.find("\\n"), std::string::npos) << scripts.out;
  EXPECT_EQ(prgen({"explain", "pr12"}).out, prgen({"explain", "PR012"}).out);
  EXPECT_EQ(prgen({"diff", a, dir.file("c.yaml", "x: 1\n")}).code, 2);
  EXPECT_EQ(prgen({"diff", a, (dir.path() / "absent").native()}).code, 3);
}

TEST(Cli, InitWritesWhatCheckAccepts) {
  for (auto const& target : targets()) {
    auto const init = prgen({"init", "--backend", std::string(target.name)});
    ASSERT_EQ(init.code, 0);
    auto const check = prgen({"check", "-"}, init.out);
    EXPECT_EQ(check.code, 0) << target.name << '\n' << init.out << check.err;
    EXPECT_EQ(check.err.find("warning"), std::string::npos) << check.err;
  }
}

TEST(Cli, SchemaKnowsEveryKey) {
  auto const schema = nlohmann::json::parse(prgen({"schema"}).out);
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  auto const& engine = schema["anyOf"][0]["properties"]["engine"]["properties"];
  EXPECT_EQ(engine["submit"]["properties"]["server_num"]["type"], "integer");
  EXPECT_TRUE(engine["submit"]["properties"].contains("mermory"));
  EXPECT_TRUE(schema["anyOf"][1]["properties"]["config"]["properties"].contains("fs_name"));
}

TEST(Cli, CompletionForThreeShells) {
  for (auto const* const shell : {"bash", "zsh", "fish"}) {
    auto const ran = prgen({"completion", shell});
    EXPECT_EQ(ran.code, 0);
    EXPECT_TRUE(holds(ran.out, "prgen"));
    for (auto const* const flag : {"kube-version", "file", "model"}) EXPECT_TRUE(holds(ran.out, flag));
    EXPECT_TRUE(holds(ran.out, "k8s volcano paddlejob mpi paddlecloud local"));
  }
}

int shell(std::string const& line) {
  auto const status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Program, FindsItsTemplatesAndNoticesAFullDisk) {
  TempDir const dir;
  auto const file = dir.file("backend.yaml", good());
  std::string const program = PRGEN_PROGRAM;
  EXPECT_EQ(shell(program + " -q " + file + " > " + dir.path().native() + "/out.yaml"), 0);
  EXPECT_TRUE(holds(contents(dir.path() / "out.yaml"), "kind: Job"));
  EXPECT_EQ(shell(program + " -q " + file + " > /dev/full 2> /dev/null"), 3);
  EXPECT_EQ(shell("cd / && " + program + " -q - < " + file + " > /dev/null"), 0);
}

TEST(Program, ColoursOnlyOnATerminal) {
  std::istringstream in(good("    memory: 4GiB\n"));
  std::ostringstream out;
  std::ostringstream err;
  ::unsetenv("NO_COLOR");
  run({"check", "-"}, in, out, err, true);
  EXPECT_TRUE(holds(err.str(), "\033["));
  ::setenv("NO_COLOR", "1", 1);
  std::istringstream again(good("    memory: 4GiB\n"));
  std::ostringstream plain;
  run({"check", "-"}, again, out, plain, true);
  ::unsetenv("NO_COLOR");
  EXPECT_EQ(plain.str().find('\033'), std::string::npos);
}

}  // namespace
