#include <prdist/table/entry.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

using namespace prdist;

TEST(Entry, PaddlesEntriesAreRead) {
  EXPECT_EQ(entry_from_text("none").value(), EntryPolicy{});
  EXPECT_EQ(entry_from_text("count_filter_entry:7").value().admission, Admission::after(7));
  EXPECT_EQ(entry_from_text("count_filter_entry:1").value().admission, Admission{});
  EXPECT_EQ(entry_from_text("count_filter_entry:0").value().admission, Admission{}) << "Paddle takes it";
  EXPECT_EQ(entry_from_text("bloom_filter_entry:1").value().admission, Admission{});
  EXPECT_EQ(entry_from_text("bloom_filter_entry:9").value().admission,
            (Admission{.kind = Admission::Kind::bloom, .pushes = 9}));
  EXPECT_EQ(entry_from_text("probability_entry:0.25").value().admission, Admission::by_chance(0.25));
  EXPECT_EQ(entry_from_text("show_click_entry:shows:clicks").value(),
            (EntryPolicy{.admission = {}, .show = "shows", .click = "clicks"}));
}

TEST(Entry, WhatIsWrongIsSaidWithAllThatWouldBeRight) {
  struct Case {
    char const* text;
    char const* says;
  };
  for (auto const& [text, says] :
       {Case{"", "it is none of those known"},
        {"count", "it is none of those known"},
        {"none:", "it is none of those known"},
        {"count_filter_entry", "the count must be a whole number from 0 to 4294967295, up to 1 for every key"},
        {"bloom_filter_entry", "the count must be a whole number from 1 to 255"},
        {"bloom_filter_entry:0", "the count must be a whole number from 1 to 255"},
        {"bloom_filter_entry:256", "the count must be a whole number from 1 to 255"},
        {"count_filter_entry:-1", "the count must be a whole number"},
        {"count_filter_entry:2.5", "the count must be a whole number"},
        {"count_filter_entry:4294967296", "the count must be a whole number"},
        {"probability_entry:0", "the probability must be a number between 0 and 1"},
        {"probability_entry:1", "the probability must be a number between 0 and 1"},
        {"probability_entry:nan", "the probability must be a number between 0 and 1"},
        {"probability_entry:x", "the probability must be a number between 0 and 1"},
        {"show_click_entry:a", "it names two inputs"},
        {"show_click_entry::b", "it names two inputs"},
        {"show_click_entry:a:", "it names two inputs"},
        {"show_click_entry:a:b:c", "it names two inputs"}}) {
    auto const read = entry_from_text(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), Errc::config_invalid);
    EXPECT_TRUE(test::holds(read.error().what(), concat("entry '", text, "': ", says)));
    EXPECT_TRUE(
        test::holds(read.error().what(),
                    "; entries are none, count_filter_entry:<n>, bloom_filter_entry:<n>, probability_entry:<p>, "));
  }
}
