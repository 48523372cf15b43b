#include <prdist/launch/process.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

struct Ran {
  int code;
  std::string output;
};

Ran run(SpawnRequest request) {
  TempFolder folder;
  Descriptor const output(::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  request.output = output.get();
  auto const pid = spawn(request).value();
  auto const ending = launch_test::reap(pid);
  return {ending ? exit_code(*ending) : -1, launch_test::read_file(folder / "out")};
}

Ran run_shell(std::string const& script, int handed_over = -1) {
  return run({"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin"}, -1, handed_over});
}

}  // namespace

TEST(Spawn, PassesArgumentsUnchanged) {
  auto const result = run({"/usr/bin/printf", {"<%s>", "a b", "", "line\nline", "$HOME `x` \"'\\", "-v"}, {}, -1, -1});
  EXPECT_EQ(result.output, "<a b><><line\nline><$HOME `x` \"'\\><-v>");
}

TEST(Spawn, StreamsCanBeGivenApart) {
  TempFolder folder;
  launch_test::write_file(folder / "in", "read me");
  Descriptor const input(::open((folder / "in").c_str(), O_RDONLY | O_CLOEXEC));
  Descriptor const errors(::open((folder / "errors").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  SpawnRequest request{"/bin/sh", {"-c", "cat; echo wrong >&2"}, {"PATH=/usr/bin:/bin"}, -1, -1};
  request.input = input.get();
  request.errors = errors.get();
  EXPECT_EQ(run(request).output, "read me");
  EXPECT_EQ(launch_test::read_file(folder / "errors"), "wrong\n");
  EXPECT_EQ(run_shell("cat; echo both >&2").output, "both\n") << "without them: nothing to read, one output";
}

TEST(Spawn, GivesExactlyTheEnvironmentAskedFor) {
  auto const result = run({"/usr/bin/env", {}, {"ONE=1", "TWO=a=b c"}, -1, -1});
  EXPECT_EQ(result.output, "ONE=1\nTWO=a=b c\n");
}

TEST(Spawn, SendsBothStreamsToTheOutput) {
  EXPECT_EQ(run_shell("echo out; echo error >&2; exit 3").output, "out\nerror\n");
}

TEST(Spawn, GivesAnEmptyStandardInput) {
  EXPECT_EQ(run_shell("wc -c").output, "0\n");
}

TEST(Spawn, MakesAGroupThatCanBeSignalledWhole) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const pid = spawn({"/bin/sh",
                          {"-c", "sleep 1000 & echo $! >\"$0\"; wait", (folder / "box").string()},
                          {"PATH=/usr/bin:/bin"},
                          STDERR_FILENO,
                          -1})
                       .value();
  EXPECT_EQ(::getpgid(pid), pid);
  auto const grandchild = mailbox.pids(1);
  ASSERT_EQ(grandchild.size(), 1U);
  ASSERT_EQ(::kill(-pid, SIGKILL), 0);
  EXPECT_EQ(launch_test::reap(pid), (Ending{0, SIGKILL, false}));
  EXPECT_TRUE(launch_test::gone_within(grandchild.front()));
}

TEST(Spawn, HandsOverOneDescriptorAndNoOther) {
  Descriptor const kept(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor const other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto const script = concat("test -e /proc/self/fd/", kept.get(), " && echo kept; test -e /proc/self/fd/", other.get(),
                             " || echo closed");
  EXPECT_EQ(run_shell(script, kept.get()).output, "kept\nclosed\n");
}

TEST(Spawn, StartsWithNoSignalHeldBackOrIgnored) {
  auto const code = launch_test::in_child([] {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t held;
    ::sigfillset(&held);
    ::sigprocmask(SIG_BLOCK, &held, nullptr);
    auto const pid = spawn({"/bin/sh",
                            {"-c",
                             "grep -q '^SigBlk:.0000000000000000' /proc/self/status && "
                             "grep -q '^SigIgn:.0000000000000000' /proc/self/status"},
                            {"PATH=/usr/bin:/bin"},
                            STDERR_FILENO,
                            -1})
                         .value();
    auto const ending = launch_test::reap(pid);
    return ending ? exit_code(*ending) : 99;
  });
  EXPECT_EQ(code, 0);
}

TEST(Spawn, KillsTheProcessWhenItsStarterGoes) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    (void)spawn({"/bin/sh",
                 {"-c", "echo $$ >\"$0\"; exec sleep 1000", (folder / "box").string()},
                 {"PATH=/usr/bin:/bin"},
                 STDERR_FILENO,
                 -1});
    // Only once it runs: the test is not of a process that never began.
    return mailbox.next().empty() ? 1 : 0;
  });
  EXPECT_EQ(code, 0);
  auto const code_again = launch_test::in_child([&] {
    auto const pid = spawn({"/bin/sleep", {"1000"}, {}, STDERR_FILENO, -1}).value();
    launch_test::write_file(folder / "pid", concat(pid));
    return 0;
  });
  EXPECT_EQ(code_again, 0);
  pid_t pid = 0;
  ASSERT_TRUE(parse_number(launch_test::read_file(folder / "pid"), pid));
  EXPECT_TRUE(launch_test::gone_within(pid));
}

TEST(Spawn, SaysWhyAProgramCannotRun) {
  TempFolder folder;
  auto const text_of = [&](std::string const& content) {
    auto const path = folder / "program";
    launch_test::write_file(path, content);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    auto const pid = spawn({path.string(), {}, {}, STDERR_FILENO, -1});
    return pid ? std::string("started") : pid.error().what();
  };
  EXPECT_NE(text_of("no program\n").find("[config.invalid] launcher: cannot run '"), std::string::npos);
  EXPECT_NE(text_of("no program\n").find("Exec format error. A script needs a first line such as #!/bin/sh"),
            std::string::npos);
  EXPECT_NE(text_of("#!/no/such/shell\n").find("interpreter in its #! line does not exist"), std::string::npos);
  EXPECT_NE(std::string(spawn({folder.path().string(), {}, {}, STDERR_FILENO, -1}).error().what())
                .find("Permission denied. Check its permissions"),
            std::string::npos);
  EXPECT_NE(std::string(spawn({"/bin/true", {std::string(8 << 20, 'x')}, {}, STDERR_FILENO, -1}).error().what())
                .find("Arguments and environment are too long together"),
            std::string::npos);
}

TEST(Spawn, SaysWhatToRaiseWhenTheSystemHasNoMore) {
  auto const code = launch_test::in_child([] {
    rlimit const few{3, 3};
    ::setrlimit(RLIMIT_NOFILE, &few);
    auto const pid = spawn({"/bin/true", {}, {}, STDERR_FILENO, -1});
    std::string_view const text = pid ? "" : pid.error().what();
    return text.find("no pipe: Too many open files. Raise ulimit -n") != text.npos ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}
