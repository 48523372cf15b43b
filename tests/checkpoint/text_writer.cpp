#include <prdist/checkpoint/text_writer.hpp>

#include <gtest/gtest.h>

#include <string>

#include <prdist/data/line_reader.hpp>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

std::string unpacked(std::string const& path) {
  LineReader reader;
  reader.open(path);
  std::string text;
  for (Line line; reader.next(line);) text += concat(line.text, '\n');
  return text;
}

TEST(TextWriter, WritesPlainAndPackedTextOfAnyLength) {
  TempDir const dir;
  for (auto const* const name : {"plain", "packed.gz"}) {
    auto const path = (dir.path() / name).native();
    std::string all;
    TextWriter writer(path);
    for (std::size_t i = 0; i < 20000; ++i) {
      auto const line = concat("line ", i * i, '\n');
      writer.write(line);
      all += line;
    }
    writer.close();
    EXPECT_EQ(unpacked(path), all);
    EXPECT_EQ(contents(path) == all, std::string_view(name) == "plain");
  }
}

TEST(TextWriter, AnEmptyPackedFileIsAPackedFile) {
  TempDir const dir;
  auto const path = (dir.path() / "empty.gz").native();
  TextWriter(path).close();
  EXPECT_EQ(contents(path).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(unpacked(path), "");
}

TEST(TextWriter, AFullDiskIsAnError) {
  TextWriter writer("/dev/full");
  writer.write("x");
  EXPECT_NE(error_of([&] { writer.close(); }).find("/dev/full, cannot be written at byte 0, No space left on device"),
            std::string::npos);
}

}  // namespace
}  // namespace prdist
