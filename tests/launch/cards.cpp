#include <prdist/launch/cards.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::has;
using launch_test::TempFolder;
using Words = std::vector<std::string>;

namespace {

std::string error_of(Result<Words> const& result) {
  return result ? "" : result.error().what();
}

}  // namespace

TEST(Cards, VisibleOnesComeFromCudasVariable) {
  EXPECT_EQ(visible_cards(environment_of({{"CUDA_VISIBLE_DEVICES", "4, 6,GPU-ab"}})), (Words{"4", "6", "GPU-ab"}));
  EXPECT_EQ(visible_cards(environment_of({{"CUDA_VISIBLE_DEVICES", ""}})), Words());
  EXPECT_EQ(visible_cards(environment_of({{"CUDA_VISIBLE_DEVICES", "1,-1,2"}})), Words{"1"});
}

TEST(Cards, WithoutTheVariableAllThatHaveADeviceFile) {
  TempFolder folder;
  EXPECT_EQ(visible_cards(environment_of({}), folder.path()), Words());
  for (auto const* name : {"nvidia0", "nvidia1", "nvidiactl"}) launch_test::write_file(folder / name, "");
  EXPECT_EQ(visible_cards(environment_of({}), folder.path()), (Words{"0", "1"}));
}

// Seed 002's --devices=6,7 are the machine's numbers, and a program counts those that it sees.
TEST(Cards, AbsoluteNumbersBecomePlacesAmongTheVisible) {
  EXPECT_EQ(cards_of("6,7", 0, {"4", "6", "7"}).value(), (Words{"1", "2"}));
  EXPECT_EQ(cards_of("7,4", 2, {"4", "6", "7"}).value(), (Words{"2", "0"}));
}

TEST(Cards, OneProcessGetsThemAllAndSeveralOneEach) {
  EXPECT_EQ(cards_of("", 0, {"0", "1"}).value(), (Words{"0", "1"}));
  EXPECT_EQ(cards_of("", 1, {"0", "1"}).value(), Words{"0,1"});
  EXPECT_EQ(cards_of("", 2, {"0", "1", "2"}).value(), (Words{"0", "1"}));
}

TEST(Cards, WithoutCardsProcessesRunOnTheCpu) {
  EXPECT_EQ(cards_of("", 0, {}).value(), Words{""});
  EXPECT_EQ(cards_of("", 3, {}).value(), (Words{"", "", ""}));
  EXPECT_EQ(cards_of("", 3, {"0"}).value(), (Words{"", "", ""}));
}

TEST(Cards, RefusesWhatIsNotThere) {
  EXPECT_TRUE(has(error_of(cards_of("6,5", 0, {"4", "6", "7"})), "there is no card '5' among 4,6,7"));
  EXPECT_TRUE(has(error_of(cards_of("0", 0, {})), "leave --devices away and give --nproc_per_node"));
  EXPECT_TRUE(has(error_of(cards_of("6,6", 0, {"4", "6"})), "card '6' stands there twice"));
  EXPECT_TRUE(
      has(error_of(cards_of("0,1,2", 2, {"0", "1", "2"})), "--nproc_per_node 2 for 3 cards of --devices 0,1,2"));
}
