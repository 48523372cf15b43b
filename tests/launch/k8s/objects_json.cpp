#include <prdist/launch/k8s/objects_json.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace prdist;

TEST(K8sObjects, SayWhyATextIsNone) {
  EXPECT_EQ(detail::read_object("[1]").fault, "it is no object");
  EXPECT_EQ(detail::read_object("{").fault.rfind("it is no JSON (", 0), 0U);
  EXPECT_NE(detail::read_object(std::string(1000, '[')).fault, "");
  EXPECT_EQ(detail::read_object("{}").fault, "");
}

TEST(K8sObjects, HaveMembersThatMayBeMissingOrOfAnotherKind) {
  auto const root = detail::read_object(R"({"a": {"b": "text", "c": 1}, "list": [{"n": "1"}, 2, {"n": "3"}]})").object;
  auto const* const a = detail::object_at(root, "a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(detail::text_at(*a, "b"), "text");
  EXPECT_EQ(detail::text_at(*a, "c"), "");
  EXPECT_EQ(detail::text_at(*a, "d"), "");
  EXPECT_EQ(detail::object_at(root, "list"), nullptr);
  std::string names;
  detail::each_object_at(root, "list", [&](auto const& each) { names += detail::text_at(each, "n"); });
  detail::each_object_at(root, "a", [&](auto const&) { names += "?"; });
  EXPECT_EQ(names, "13");
}
