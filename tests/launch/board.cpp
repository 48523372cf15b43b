#include <prdist/launch/board.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using Lines = std::vector<std::string>;

namespace {

MemberState server(std::size_t index, std::string state = "running") {
  return {{JobRole::server, index}, std::move(state), {}};
}

MemberState trainer(std::size_t index, std::string_view progress, std::string state = "running") {
  return {{JobRole::trainer, index},
          std::move(state),
          progress.empty() ? std::optional<Progress>() : parse_progress(progress)};
}

}  // namespace

TEST(Board, HasALinePerMemberInColumns) {
  std::vector<MemberState> const members{
      server(0), trainer(0, "step=1200 examples=610 total=1000 loss=0.4512 rate=21034 phase=train"),
      trainer(1, "step=90 loss=12.5", "SIGKILL"), trainer(2, "")};
  EXPECT_EQ(board_of(members, 10), (Lines{"server 0   running",                                                    //
                                          "trainer 0  train    step 1,200  loss 0.4512   21,034 examples/s  61%",  //
                                          "trainer 1  SIGKILL  step 90     loss 12.5000",                          //
                                          "trainer 2  running"}));
}

TEST(Board, SumsUpMembersThatDoNotFit) {
  std::vector<MemberState> const members{server(0), server(1), trainer(0, "step=1240 loss=0.41 rate=21000"),
                                         trainer(1, "step=1180 loss=0.52 rate=20034"), trainer(2, "", "exit 0")};
  EXPECT_EQ(board_of(members, 5).size(), 5U);
  EXPECT_EQ(board_of(members, 4),
            (Lines{"servers    2 running",
                   "trainers   1 exit 0, 2 running, step 1,180 to 1,240, loss 0.4100 to 0.5200, 20,034 to 21,000 "
                   "examples/s"}));
}

TEST(Board, OfACollectiveJobHasNoServers) {
  std::vector<MemberState> const members{trainer(0, ""), trainer(1, "")};
  EXPECT_EQ(board_of(members, 1), Lines{"trainers   2 running"});
}

// What a program writes into its progress file reaches the terminal.
TEST(Board, LetsNoControlCharacterThrough) {
  auto const line = board_of(std::vector{trainer(0, "phase=\x1b[2Jtrain\xc3\xa4")}, 5).front();
  EXPECT_EQ(line, "trainer 0  ?[2Jtrain??");
  EXPECT_EQ(board_of(std::vector{trainer(0, "loss=nan rate=-5 step=1")}, 5).front(),
            "trainer 0  running  step 1  loss nan");
}
