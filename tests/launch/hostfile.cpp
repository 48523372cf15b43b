#include <prdist/launch/hostfile.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/thrown.hpp"
#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

TEST(Hostfile, IsReadAsItIs) {
  TempFolder const folder;
  launch_test::write_file(folder / "machines", "a slots=2\nb\n");
  EXPECT_EQ(hostfile_text("ssh", folder / "machines"), "a slots=2\nb\n");
}

TEST(Hostfile, ThatIsNotThereOrNoFileIsNamed) {
  TempFolder const folder;
  auto const missing = (folder / "machines").string();
  EXPECT_EQ(test::thrown([&] { (void)hostfile_text("mpi", missing); }).message(),
            "mpi: the hostfile '" + missing + "' cannot be read: check --hostfile");
  ASSERT_EQ(::mkfifo(missing.c_str(), 0600), 0);
  auto const fifo = test::thrown([&] { (void)hostfile_text("ssh", missing); });
  EXPECT_EQ(fifo.message(), "ssh: the hostfile '" + missing + "' is a FIFO and not a file: check --hostfile");
  EXPECT_EQ(fifo.code(), Errc::config_missing);
}

TEST(Hostfile, MayBeAPipeOfTheShell) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "a\n", 2), 2);
  ::close(ends[1]);
  EXPECT_EQ(hostfile_text("ssh", "/dev/fd/" + std::to_string(ends[0])), "a\n");
  ::close(ends[0]);
}
