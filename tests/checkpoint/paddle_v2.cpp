#include <prdist/checkpoint/paddle_v2.hpp>

#include <gtest/gtest.h>

#include <string>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

using namespace std::string_literals;

TEST(PaddleV2, TheBytesAreThoseOfPaddle) {
  TempDir const dir;
  auto const path = (dir.path() / "w").native();
  write_v2_parameter(path, {.values = {1, -2}});
  EXPECT_EQ(contents(path), "\0\0\0\0"s + "\4\0\0\0"s + "\2\0\0\0\0\0\0\0"s + "\0\0\x80\x3f"s + "\0\0\0\xc0"s);
}

TEST(PaddleV2, ParametersComeBackAsTheyWere) {
  TempDir const dir;
  auto const path = (dir.path() / "w").native();
  for (auto const& parameter : {V2Parameter{}, V2Parameter{1, {1, 2, 3}, {}}, V2Parameter{0, {1}, {0, 1, 7}}}) {
    write_v2_parameter(path, parameter);
    EXPECT_EQ(read_v2_parameter(path), parameter);
  }
}

TEST(PaddleV2, DamageIsNamedByFileAndByte) {
  TempDir const dir;
  auto const said = [&](std::string const& bytes) {
    auto const path = dir.file("w", bytes);
    auto text = error_of([&] { (void)read_v2_parameter(path); });
    auto const front = "prdist[checkpoint.damaged] " + path + ", at byte ";
    EXPECT_TRUE(text.starts_with(front)) << text;
    EXPECT_TRUE(text.ends_with(": check that it is a parameter file of Paddle v2, and copy it again")) << text;
    return text.substr(front.size(), text.rfind(':') - front.size());
  };
  auto const sizes = "\4\0\0\0"s + "\2\0\0\0\0\0\0\0"s;
  auto const good = "\0\0\0\0"s + sizes + std::string(8, 'x');
  for (std::size_t size = 0; size < 16; ++size) EXPECT_EQ(said(good.substr(0, size)), concat(size, ", the file ends"));
  EXPECT_EQ(said(good.substr(0, 20)), "8, there should be 2 values and there is room for 1");
  EXPECT_EQ(said(good + "x"), "24, there are 1 bytes behind the values");
  EXPECT_EQ(said("\7\0\0\0"s + sizes), "0, the format is 7, 0 and 1 are known");
  EXPECT_EQ(said("\0\0\0\0\10\0\0\0"s + std::string(16, '\0')), "4, a value has 8 bytes, 4 are known");
  EXPECT_EQ(said("\0\0\0\0\4\0\0\0"s + std::string(8, '\xff')),
            "8, there should be 18446744073709551615 values and there is room for 0");
}

TEST(PaddleV2, APassHasOneFilePerParameterAndDone) {
  TempDir const dir;
  auto const folder = (dir.path() / "model/pass-00003").native();
  std::map<std::string, V2Parameter> const parameters{{"___fc_layer_0__.w0", {.values = {1, 2}}},
                                                      {"_emb", {.values = {3}}}};
  write_v2_pass(folder, parameters);
  EXPECT_TRUE(std::filesystem::exists(folder + "/done"));
  dir.file("model/pass-00003/path.txt", "conf.py");
  dir.file("model/pass-00003/conf.py", "");
  EXPECT_EQ(read_v2_pass(folder), parameters);
  EXPECT_NE(error_of([&] { write_v2_pass(folder, parameters); }).find("is there already"), std::string::npos);
  std::filesystem::remove(folder + "/done");
  EXPECT_EQ(error_of([&] { (void)read_v2_pass(folder); }),
            "prdist[checkpoint.missing] " + folder +
                ", has no file 'done', so the pass was not saved to its end: load another one");
}

TEST(PaddleV2, ANameThatLeadsElsewhereIsRefused) {
  for (auto const* const name : {"", "../x", "done", "a/b", ".hidden"}) {
    EXPECT_EQ(
        error_of([&] {
          write_v2_pass("m/pass-00000", {{name, {}}});
        }),
        concat("prdist[config.invalid] m/pass-00000, parameter '", name, "' cannot be a file of this name: rename it"));
  }
}

}  // namespace
}  // namespace prdist
