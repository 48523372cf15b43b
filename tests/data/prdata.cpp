// The program over planted_files.hpp: what it prints and how it ends.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <prdist/version.hpp>

#include "../support/run_program.hpp"
#include "temp_dir.hpp"

namespace {

prdist::test::Ran prdata(std::string const& arguments) {
  return prdist::test::run_program(PRDATA_PROGRAM, arguments);
}

}  // namespace

TEST(Prdata, WritesASetAndSaysWhatItIs) {
  TempDir const dir;
  auto const out = (dir.path() / "set").native();
  auto const ran = prdata("--out " + out + " --rows 300 --test-rows 100 --files 2 --seed 5");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_EQ(ran.text.rfind(out + ": 300 training rows in 2 files, 100 test rows, ", 0), 0U) << ran.text;
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "set/train/part-001"));
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "set/test/part-000"));
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "set/meta.json"));
}

TEST(Prdata, HelpHasAnExampleAndVersionIsTheLibrarys) {
  auto const help = prdata("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.text.find("Example: prdata --out data"), std::string::npos);
  auto const version = prdata("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.text, std::string(prdist::version) + '\n');
}

TEST(Prdata, WrongUsageEndsWith64) {
  EXPECT_EQ(prdata("").code, 64);
  TempDir const dir;
  auto const out = "--out " + dir.path().native();
  for (auto const* const wrong : {"many", "-5", "1e3", "99999999999999999999"}) {
    auto const ran = prdata(out + " --rows " + wrong);
    EXPECT_EQ(ran.code, 64) << wrong;
    EXPECT_NE(ran.text.find(std::string("--rows: '") + wrong + "' is not a whole number"), std::string::npos)
        << ran.text;
  }
  auto const unknown = prdata(out + " --colour red");
  EXPECT_EQ(unknown.code, 64);
  EXPECT_NE(unknown.text.find("--help"), std::string::npos) << unknown.text;
}

TEST(Prdata, BadInputEndsWith78AndTheLibrarysMessage) {
  TempDir const dir;
  auto const none = prdata("--rows 0 --out " + (dir.path() / "set").native());
  EXPECT_EQ(none.code, 78);
  EXPECT_EQ(none.text.rfind("prdist[config.invalid] ", 0), 0U) << none.text;
  auto const blocked = prdata("--out " + dir.file("blocked", ""));
  EXPECT_EQ(blocked.code, 78);
  EXPECT_EQ(blocked.text.rfind("prdist[data.file] ", 0), 0U) << blocked.text;
}
