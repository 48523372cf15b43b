#include <prdist/data/line_reader.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <prdist/checkpoint/text_writer.hpp>

#include "../support/caught_log.hpp"
#include "error_text.hpp"
#include "temp_dir.hpp"

using namespace prdist;

namespace {

std::vector<std::string> lines_of(std::string const& path, std::size_t limit = LineReader::default_limit) {
  LineReader reader(limit);
  reader.open(path);
  std::vector<std::string> lines;
  for (Line line; reader.next(line);) {
    EXPECT_EQ(line.number, lines.size() + 1);
    lines.emplace_back(line.cut ? "cut:" + std::string(line.text) : std::string(line.text));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST(LineReader, TakesEveryKindOfLineEnd) {
  TempDir const dir;
  EXPECT_EQ(lines_of(dir.file("unix", "a\nb\n")), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of(dir.file("dos", "a\r\nb\r\n")), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of(dir.file("open", "a\nb")), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of(dir.file("open-dos", "a\r\nb\r")), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of(dir.file("gaps", "\n\na\n\n")), (Lines{"", "", "a", ""}));
  EXPECT_EQ(lines_of(dir.file("empty", "")), Lines{});
}

TEST(LineReader, KeepsNulBytes) {
  TempDir const dir;
  EXPECT_EQ(lines_of(dir.file("nul", std::string("a\0b\nc", 5))), (Lines{std::string("a\0b", 3), "c"}));
}

TEST(LineReader, JoinsLinesThatSpanReads) {
  // Lines of 1 to 5000 bytes over several megabytes: every position of a line end within a read is met.
  std::string text;
  Lines wanted;
  for (std::size_t i = 0; i < 2000; ++i) {
    wanted.push_back(std::string(1 + i * 37 % 5000, static_cast<char>('a' + i % 26)));
    text += wanted.back() + '\n';
  }
  TempDir const dir;
  EXPECT_EQ(lines_of(dir.file("long", text)), wanted);
}

TEST(LineReader, CutsALineBeyondTheLimitAndGoesOnBehindIt) {
  TempDir const dir;
  EXPECT_EQ(lines_of(dir.file("ten", "0123456789\nnext\n"), 10), (Lines{"0123456789", "next"}));
  EXPECT_EQ(lines_of(dir.file("ten-dos", "0123456789\r\nnext\n"), 10), (Lines{"0123456789", "next"}));
  EXPECT_EQ(lines_of(dir.file("eleven", "0123456789X\nnext\n"), 10), (Lines{"cut:0123456789", "next"}));
  auto const huge = std::string(3 << 20, 'x');
  EXPECT_EQ(lines_of(dir.file("huge", "a\n" + huge + "\nnext"), 10), (Lines{"a", "cut:xxxxxxxxxx", "next"}));
  EXPECT_EQ(lines_of(dir.file("huge-last", huge), 10), (Lines{"cut:xxxxxxxxxx"}));
}

TEST(LineReader, OpensOneFileAfterAnotherAndDropsTheRest) {
  TempDir const dir;
  LineReader reader;
  reader.open(dir.file("one", "a\nb\nc\n"));
  Line line;
  ASSERT_TRUE(reader.next(line));
  reader.open(dir.file("two", "x\n"));
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "x");
  EXPECT_EQ(line.number, 1U);
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
}

TEST(LineReader, NamesTheFileThatCannotBeRead) {
  TempDir const dir;
  LineReader reader;
  auto const missing = (dir.path() / "missing").native();
  EXPECT_EQ(error_of([&] { reader.open(missing); }),
            "prdist[data.file] " + missing +
                ", cannot be opened, No such file or directory: check the path and its permissions");
  Line line;
  reader.open(dir.path().native());
  EXPECT_EQ(error_of([&] { (void)reader.next(line); }),
            "prdist[data.file] " + dir.path().native() +
                ", cannot be read, Is a directory: check the path and its permissions");
}

TEST(LineReader, ReadsAPipeButNotWhereAFileMustBe) {
  TempDir const dir;
  auto const path = (dir.path() / "fifo").native();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  LineReader reader;
  EXPECT_EQ(error_of([&] { reader.open_file(path); }),
            "prdist[data.file] " + path + ", is a FIFO and not a file: check the path");
  // As a shell's <(zcat rows.gz) gives it.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Descriptor const read_end(ends[0]);
  ASSERT_EQ(::write(ends[1], "a\nb\n", 4), 4);
  ::close(ends[1]);
  CaughtLog const log;
  auto const named = concat("/dev/fd/", read_end.get());
  EXPECT_EQ(lines_of(named), (Lines{"a", "b"}));
  EXPECT_EQ(log.lines(), (Lines{named + " is a pipe: reads what is written into it"}));
  reader.open_file(dir.file("plain.gz", gzip("x\ny")));
  Line line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "x");
}

TEST(LineReader, ReadsTheTextInsideAGzip) {
  TempDir const dir;
  // Two members one behind the other are one text.
  auto const path = dir.file("text.gz", gzip("a\nb") + gzip("c\r\nd"));
  EXPECT_EQ(lines_of(path), (Lines{"a", "bc", "d"}));
  EXPECT_EQ(lines_of(dir.file("misnamed.gz", "plain\n")), Lines{"plain"});
  EXPECT_EQ(lines_of(dir.file("empty.gz", gzip(""))), Lines{});
}

TEST(LineReader, ADamagedGzipIsAnErrorAndNotAShorterText) {
  TempDir const dir;
  std::string text;
  for (std::size_t i = 0; i < 20000; ++i) text += concat(i * i, '\n');
  auto const packed = gzip(text);
  for (std::size_t const size : {packed.size() / 2, packed.size() - 1}) {
    auto const path = dir.file("cut.gz", packed.substr(0, size));
    auto const said = error_of([&] { (void)lines_of(path); });
    EXPECT_TRUE(said.starts_with("prdist[data.file] " + path + ", cannot be unpacked behind byte ")) << said;
    EXPECT_TRUE(said.ends_with(", it ends too early: the file is damaged, make it again")) << said;
  }
  auto flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // in the checksum behind the text
  auto const path = dir.file("flipped.gz", flipped);
  EXPECT_NE(error_of([&] { (void)lines_of(path); }).find("incorrect data check"), std::string::npos);
}

TEST(LineReader, GoesBackToWhereItStood) {
  TempDir const dir;
  std::string const text = "one\r\n\nthree\nlast";
  for (auto const& path : {dir.file("plain", text), dir.file("packed.gz", gzip(text))}) {
    std::vector<std::pair<std::uint64_t, std::size_t>> places{{0, 0}};
    LineReader reader;
    reader.open(path);
    for (Line line; reader.next(line);) places.emplace_back(reader.offset(), reader.lines());
    EXPECT_EQ(places.back().first, text.size());
    for (auto const& [offset, lines] : places) {
      reader.open(path);
      reader.seek(offset, lines);
      EXPECT_EQ(reader.offset(), offset);
      Line line;
      std::size_t count = lines;
      while (reader.next(line)) EXPECT_EQ(line.number, ++count);
      EXPECT_EQ(count, 4U);
    }
    for (std::uint64_t const wrong : {1UL, 4UL, 8UL, 15UL, text.size() + 1, 1UL << 40}) {
      reader.open(path);
      EXPECT_EQ(error_of([&] { reader.seek(wrong, 1); }),
                concat("prdist[data.position] ", path, ", no line ends at byte ", wrong,
                       ", so the file has changed since: bring the old one back, or start without the position"));
    }
  }
}
