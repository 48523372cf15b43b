#include <prdist/core/regular_file.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

std::string error_text(std::string const& path) {
  auto const opened = open_regular(Errc::data_file, path, "look again");
  return opened ? "no error" : opened.error().what();
}

TEST(OpenRegular, OpensAFileAndTellsItsSize) {
  TempDir const dir;
  auto const opened = open_regular(Errc::data_file, dir.file("file", "12345"), "look again");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->size, 5U);
  char byte = 0;
  EXPECT_EQ(::pread(opened->descriptor.get(), &byte, 1, 2), 1);
  EXPECT_EQ(byte, '3');
}

TEST(OpenRegular, WhatIsNoFileIsNamedAndKeepsNobodyWaiting) {
  TempDir const dir;
  auto const fifo = (dir.path() / "fifo").native();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error_text(fifo), "prdist[data.file] " + fifo + ", is a FIFO and not a file: check the path");
  EXPECT_EQ(error_text(dir.path().native()),
            "prdist[data.file] " + dir.path().native() + ", is a folder and not a file: check the path");
  EXPECT_EQ(error_text("/dev/null"), "prdist[data.file] /dev/null, is a device and not a file: check the path");
  auto const path = (dir.path() / "socket").native();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Descriptor const bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address), 0);
  EXPECT_EQ(error_text(path), "prdist[data.file] " + path + ", is a socket and not a file: check the path");
  EXPECT_EQ(error_text("/nowhere"),
            "prdist[data.file] /nowhere, cannot be opened, No such file or directory: look again");
}

}  // namespace
}  // namespace prdist
