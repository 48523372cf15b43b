#include <prdist/table/command.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

using namespace prdist;

// A log or a replica keeps commands and hands them on.
static_assert(std::is_copy_constructible_v<Command> && std::is_nothrow_move_constructible_v<Command>);

// Trainer and server compute the number each for itself: it is part of the wire.
TEST(Command, TableIdIsTheLowHalfOfTheNamesHash) {
  EXPECT_EQ(table_id("embedding"), static_cast<std::uint32_t>(hash_name("embedding")));
  EXPECT_EQ(table_id("embedding"), 0x7b755e80U);
  EXPECT_NE(table_id("embedding"), table_id("Embedding"));
}

TEST(Command, ACopyKeepsWhatItsSpansShow) {
  auto keys = std::make_shared<std::vector<Key>>(std::vector<Key>{1, 2, 3});
  Command command = PushRows{7, 0, 1, true, 9, *keys, {}, keys};
  auto const copy = command;
  command = Leave{0};
  std::weak_ptr<std::vector<Key>> const memory = keys;
  keys.reset();
  ASSERT_FALSE(memory.expired());
  EXPECT_EQ(std::get<PushRows>(copy).keys[2], 3U);
  EXPECT_EQ(std::get<PushRows>(copy).ticket, 9U);
}
