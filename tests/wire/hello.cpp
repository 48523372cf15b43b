#include <prdist/wire/hello.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../support/random.hpp"
#include "../support/thrown.hpp"

using namespace prdist;
using test::holds;

namespace {

Hello some_hello() {
  return {.trainer = 1, .trainers = 4, .server = 2, .servers = 3, .release = "0.1.0"};
}

}  // namespace

TEST(Hello, ReadsBackWhatWasWritten) {
  EXPECT_EQ(to_json(some_hello()), R"({"trainer":1,"trainers":4,"server":2,"servers":3,"release":"0.1.0"})");
  EXPECT_EQ(hello_from_json(to_json(some_hello())).value(), some_hello());
  auto const most = std::numeric_limits<std::uint32_t>::max();
  Hello const extreme{most, most, most, most, "a \"quoted\" \n release"};
  EXPECT_EQ(hello_from_json(to_json(extreme)).value(), extreme);
}

TEST(Hello, FieldsOfALaterReleaseAreOverlooked) {
  EXPECT_EQ(hello_from_json(R"({"new":[1],"trainer":1,"trainers":4,"server":2,"servers":3,"release":"0.1.0"})").value(),
            some_hello());
}

TEST(Hello, OfSeveralPortsItSaysWhichItIsFor) {
  auto hello = some_hello();
  hello.ports = {2, 1};
  hello.link = 2;
  EXPECT_EQ(to_json(hello), R"({"trainer":1,"trainers":4,"server":2,"servers":3,"release":"0.1.0",)"
                            R"("dense_ports":2,"sparse_ports":1,"link":2})");
  EXPECT_EQ(hello_from_json(to_json(hello)).value(), hello);
  for (auto const* const wrong :
       {R"("dense_ports":0,"sparse_ports":1,"link":0})", R"("dense_ports":1,"link":0})",
        R"("dense_ports":1,"sparse_ports":1,"link":2})", R"("dense_ports":4294967295,"sparse_ports":2,"link":0})",
        R"("dense_ports":1,"sparse_ports":1,"link":"x"})"}) {
    auto const text = concat(R"({"trainer":1,"trainers":4,"server":2,"servers":3,"release":"0.1.0",)", wrong);
    EXPECT_EQ(hello_from_json(text).error().message(), "the peer's hello does not say which port it is for") << text;
  }
}

TEST(Hello, WhatIsWrongIsSaid) {
  struct Case {
    char const* text;
    char const* what;
  };
  for (auto const& [text, what] : {
           Case{"", "is not a JSON object"},
           Case{"{", "is not a JSON object"},
           Case{"[]", "is not a JSON object"},
           Case{"7", "is not a JSON object"},
           Case{"GET / HTTP/1.1", "is not a JSON object"},
           Case{"{}", "does not say who it is"},
           Case{R"({"trainers":4,"server":2,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":1,"server":2,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":1,"trainers":4,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":1,"trainers":4,"server":2,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":-1,"trainers":4,"server":2,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":4294967296,"trainers":4,"server":2,"servers":3,"release":"r"})",
                "does not say who it is"},
           Case{R"({"trainer":1.5,"trainers":4,"server":2,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":"1","trainers":4,"server":2,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":null,"trainers":4,"server":2,"servers":3,"release":"r"})", "does not say who it is"},
           Case{R"({"trainer":1,"trainers":4,"server":2,"servers":3})", "has no release"},
           Case{R"({"trainer":1,"trainers":4,"server":2,"servers":3,"release":1})", "has no release"},
       }) {
    auto const hello = hello_from_json(text);
    ASSERT_FALSE(hello) << text;
    EXPECT_EQ(hello.error().what(), concat("prdist[wire.message] the peer's hello ", what)) << text;
  }
}

TEST(Hello, DeepAndTruncatedTextsAreRefused) {
  EXPECT_FALSE(hello_from_json(std::string(1000000, '[')));
  auto const text = to_json(some_hello());
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(hello_from_json(text.substr(0, size)));
}

TEST(Failure, EveryCodeComesThroughWithItsText) {
  for (std::uint16_t code = 0; code <= static_cast<std::uint16_t>(last_errc); ++code) {
    Error const error(static_cast<Errc>(code), "server 2: table 'e' has another shape: ", "dim is 8");
    auto const back = decode_failure(encode_failure(error));
    EXPECT_EQ(back.code(), error.code());
    EXPECT_STREQ(back.what(), error.what());
  }
}

TEST(Failure, AnEmptyTextAndALongOneComeThrough) {
  EXPECT_EQ(decode_failure(encode_failure(Error(Errc::job_state, ""))).message(), "");
  std::string const text(100000, 'x');
  EXPECT_EQ(decode_failure(encode_failure(Error(Errc::job_state, text))).message(), text);
}

TEST(Failure, AShortPayloadIsSaidToBe) {
  std::vector<std::byte> const one(1);
  for (auto const& payload : {ConstBytes{}, ConstBytes(one)}) {
    EXPECT_STREQ(decode_failure(payload).what(), "prdist[wire.message] a failure without its code");
  }
}

// A later release may know more codes: its text still arrives.
TEST(Failure, AnUnknownCodeKeepsItsText) {
  for (std::uint16_t const code :
       {static_cast<std::uint16_t>(static_cast<int>(last_errc) + 1), std::uint16_t{0xffff}}) {
    auto payload = encode_failure(Error(Errc::internal, "what a later release says"));
    std::memcpy(payload.data(), &code, sizeof code);
    auto const error = decode_failure(payload);
    EXPECT_EQ(error.code(), Errc::internal);
    EXPECT_EQ(error.message(), "what a later release says");
  }
}
