#include <prdist/launch/console.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

/// A pseudo-terminal of 40 columns: what is written to `slave` is read from `master` as a person would see it.
struct Terminal {
  Descriptor master{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  Descriptor slave;

  Terminal() {
    ::grantpt(master.get());
    ::unlockpt(master.get());
    auto const* const name = ::ptsname(master.get());
    if (name == nullptr) return;  // /dev/pts is not there, as in a bare chroot
    slave.reset(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    winsize const size{24, 40, 0, 0};
    ::ioctl(slave.get(), TIOCSWINSZ, &size);
    ::setenv("TERM", "xterm", 1);
  }
  std::string read() const {
    std::string text;
    char chunk[4096];
    while (launch_test::readable_within(master.get(), std::chrono::milliseconds(0))) {
      auto const size = ::read(master.get(), chunk, sizeof chunk);
      if (size <= 0) break;
      text.append(chunk, static_cast<std::size_t>(size));
    }
    return text;
  }
};

struct Pipe {
  Descriptor out, in;
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
};

}  // namespace

TEST(Console, KeepsTheTwoStreamsApart) {
  TempFolder folder;
  Descriptor const out(::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Descriptor const error(::open((folder / "error").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  {
    Console console(out.get(), error.get());
    EXPECT_FALSE(console.terminal());
    console.out("one");
    console.error("two");
    console.status("never shown");
    console.out("three");
  }
  EXPECT_EQ(launch_test::read_file(folder / "out"), "one\nthree\n");
  EXPECT_EQ(launch_test::read_file(folder / "error"), "two\n");
}

TEST(Console, RewritesOneStatusLineBelowTheOthers) {
  Terminal terminal;
  if (!terminal.slave) GTEST_SKIP() << "this machine has no /dev/pts: no terminal can be made";
  {
    Console console(terminal.slave.get(), terminal.slave.get());
    ASSERT_TRUE(console.terminal());
    console.status("10%");
    EXPECT_EQ(terminal.read(), "10%");
    console.status("20%");
    EXPECT_EQ(terminal.read(), "\r\x1b[K20%");
    console.out("a line");
    EXPECT_EQ(terminal.read(), "\r\x1b[Ka line\r\n20%");
    console.status(std::string(100, 'x'));
    EXPECT_EQ(terminal.read(), "\r\x1b[K" + std::string(39, 'x'));
  }
  EXPECT_EQ(terminal.read(), "\r\x1b[K");
}

TEST(Console, RewritesSeveralStatusLines) {
  Terminal terminal;
  if (!terminal.slave) GTEST_SKIP() << "this machine has no /dev/pts: no terminal can be made";
  {
    Console console(terminal.slave.get(), terminal.slave.get());
    EXPECT_EQ(console.rows(), 24U);
    console.status("10%\nserver 0\n" + std::string(100, 'x'));
    EXPECT_EQ(terminal.read(), "10%\r\nserver 0\r\n" + std::string(39, 'x'));
    console.out("a line");
    EXPECT_EQ(terminal.read(), "\r\x1b[2A\x1b[Ja line\r\n10%\r\nserver 0\r\n" + std::string(39, 'x'));
    console.status("20%");
    EXPECT_EQ(terminal.read(), "\r\x1b[2A\x1b[J20%");
  }
  EXPECT_EQ(terminal.read(), "\r\x1b[K");
}

TEST(Console, OnADumbTerminalHasNoStatusLine) {
  Terminal terminal;
  if (!terminal.slave) GTEST_SKIP() << "this machine has no /dev/pts: no terminal can be made";
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(Console(terminal.slave.get(), terminal.slave.get()).terminal());
}

TEST(Console, NeverWaitsForAReader) {
  Pipe pipe;
  Console console(pipe.in.get(), pipe.in.get());
  std::string const line(1023, 'x');
  for (int i = 0; i < 200; ++i) console.out(line);  // three times what the pipe takes
  EXPECT_TRUE(console.congested());
  std::size_t got = 0;
  char chunk[4096];
  while (got < 200 * 1024 && launch_test::readable_within(pipe.out.get(), launch_test::patience)) {
    auto const size = ::read(pipe.out.get(), chunk, sizeof chunk);
    ASSERT_GT(size, 0);
    got += static_cast<std::size_t>(size);
    console.flush({});
  }
  EXPECT_EQ(got, 200U * 1024U);
  EXPECT_FALSE(console.congested());
}

// A terminal polls writable as long as there is room for anything, and would sleep over the rest.
TEST(Console, NeverWaitsForATerminalThatIsStopped) {
  Terminal terminal;
  if (!terminal.slave) GTEST_SKIP() << "this machine has no /dev/pts: no terminal can be made";
  std::string const line(1023, 'x');
  auto const code = launch_test::in_child([&] {
    ::alarm(20);
    Console console(terminal.slave.get(), terminal.slave.get());
    for (int i = 0; i < 200; ++i) console.out(line);
    return console.congested() ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(Console, GoesOnWhenItsReaderIsGone) {
  auto const code = launch_test::in_child([] {
    ::signal(SIGPIPE, SIG_IGN);
    Pipe pipe;
    Console console(pipe.in.get(), pipe.in.get());
    pipe.out.reset();
    for (int i = 0; i < 1000; ++i) console.out(std::string(1000, 'x'));
    return console.congested() ? 1 : 0;
  });
  EXPECT_EQ(code, 0);
}
