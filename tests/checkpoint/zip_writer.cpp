#include <prdist/checkpoint/zip_writer.hpp>

#include <gtest/gtest.h>

#include <string>

#include <prdist/data/npy.hpp>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"
#include "python.hpp"

namespace prdist {
namespace {

void add(ZipWriter& zip, std::string const& name, std::vector<std::uint64_t> const& values) {
  auto const header = npy_header<std::uint64_t>(std::vector<std::size_t>{values.size()});
  zip.begin(name, header.size());
  auto const bytes = std::as_bytes(std::span(values));
  zip.write(bytes.first(bytes.size() / 2));
  zip.write(bytes.subspan(bytes.size() / 2));
  zip.end(header);
}

TEST(ZipWriter, PythonReadsTheNarrowAndTheWideForm) {
  TempDir const dir;
  // From 0: every size and offset is wide. From 150: the second entry's offset is, its size is not.
  for (std::uint64_t const wide_from : {0xffffffffULL, 0ULL, 150ULL}) {
    auto const path = (dir.path() / "some.zip").native();
    ZipWriter zip(path, wide_from);
    add(zip, "first.npy", {1, 2, 3});
    add(zip, "empty.npy", {});
    add(zip, "last.npy", {~std::uint64_t{0}});
    zip.close();
    EXPECT_EQ(read_by_python(path), "first <u8 3 1 2 3\nempty <u8 0\nlast <u8 1 1.84467e+19\n") << wide_from;
  }
}

TEST(ZipWriter, TheSameContentGivesTheSameFile) {
  TempDir const dir;
  for (auto const* const name : {"a", "b"}) {
    ZipWriter zip((dir.path() / name).native());
    add(zip, "x.npy", {1});
    zip.close();
  }
  EXPECT_EQ(contents(dir.path() / "a"), contents(dir.path() / "b"));
}

TEST(ZipWriter, AFullDiskIsAnError) {
  ZipWriter zip("/dev/full");
  EXPECT_NE(error_of([&] { zip.begin("x"); }).find("/dev/full, cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace prdist
