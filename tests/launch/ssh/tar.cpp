// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/tar.hpp>

#include <memory>

#include "../support.hpp"

using namespace prdist;
namespace fs = std::filesystem;

namespace {

/// The stream, taken apart by the tar of this machine.
void extract(TarStream stream, fs::path const& to) {
  fs::create_directories(to);
  std::unique_ptr<FILE, int (*)(FILE*)> const tar(::popen(concat("tar -xof - -C ", to.string()).c_str(), "w"),
                                                  &::pclose);
  for (auto piece = stream.next(); !piece.empty(); piece = stream.next()) {
    ASSERT_EQ(std::fwrite(piece.data(), 1, piece.size(), tar.get()), piece.size());
  }
}

}  // namespace

TEST(SshTar, RealTarReadsIt) {
  launch_test::TempFolder folder;
  auto const from = folder / "from";
  std::string const deep = std::string(90, 'd') + '/' + std::string(90, 'e');
  fs::create_directories(from / deep);
  std::string big(200'000, 'x');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 7);
  launch_test::write_file(from / "empty", "");
  launch_test::write_file(from / "block", std::string(512, 'b'));
  launch_test::write_file(from / "big", big);
  launch_test::write_file(from / "run me", "#!/bin/sh\n");
  ::chmod((from / "run me").c_str(), 0755);
  launch_test::write_file(from / deep / "long", "found");
  fs::create_symlink("big", from / "link");
  fs::create_symlink(deep + "/long", from / "long link");
  TarStream stream(package_for(from, 0, 1, false).entries);
  EXPECT_EQ(stream.total(), big.size() + 512 + 10 + 5);
  extract(std::move(stream), folder / "to");
  auto const to = folder / "to";
  EXPECT_EQ(launch_test::read_file(to / "big"), big);
  EXPECT_EQ(launch_test::read_file(to / "block"), std::string(512, 'b'));
  EXPECT_TRUE(fs::is_regular_file(to / "empty"));
  EXPECT_EQ(launch_test::read_file(to / deep / "long"), "found");
  EXPECT_EQ(fs::read_symlink(to / "link"), "big");
  EXPECT_EQ(launch_test::read_file(to / "long link"), "found");
  EXPECT_EQ(fs::status(to / "run me").permissions() & fs::perms::owner_exec, fs::perms::owner_exec);
}

TEST(SshTar, WhatCannotBeReadIsNamed) {
  launch_test::TempFolder folder;
  launch_test::write_file(folder / "gone", "x");
  TarStream stream(package_for(folder.path(), 0, 1, false).entries);
  fs::remove(folder / "gone");
  EXPECT_EQ(
      launch_test::error_of([&] { return stream.next(); }),
      concat("prdist[data.file] ssh: '", (folder / "gone").string(),
             "' cannot be copied, No such file or directory: check its permissions, or take it out of the package"));
}
