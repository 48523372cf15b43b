// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/termination_log.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::read_file;
using launch_test::TempFolder;

namespace {

std::vector<std::string> const environment{"PADDLECLOUD_SK=s3cr3t", "FS_UGI=user,pw-of-user",        "HOME=/root",
                                           "DB_PASSWORD=a",         "AWS_SECRET_ACCESS_KEY=abc/def", "EMPTY_TOKEN="};

}  // namespace

TEST(TerminationLog, HoldsNoSecret) {
  EXPECT_EQ(without_secrets("login s3cr3t failed for user,pw-of-user at /root: s3cr3ts3cr3t", environment),
            "login *** failed for *** at /root: ******");
  EXPECT_EQ(without_secrets("GET https://me:pass@host/x?a=b@c and http://host:80/p@q", environment),
            "GET https://me:***@host/x?a=b@c and http://host:80/p@q");
  EXPECT_EQ(without_secrets("a plain a", environment), "a plain a") << "a value of one letter hides nothing";
}

TEST(TerminationLog, HoldsNoValueBehindASecretName) {
  for (auto const& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"curl -H 'Authorization: Bearer TTT' http://h/", "curl -H 'Authorization: Bearer ***' http://h/"},
           {"authorization: TTT", "authorization: ***"},
           {"Proxy-Authorization: Basic dTpw==, next", "Proxy-Authorization: Basic ***, next"},
           {"X-Api-Key: TTT", "X-Api-Key: ***"},
           {"GET http://h/p?user=me&token=TTT&n=3", "GET http://h/p?user=me&token=***&n=3"},
           {"cannot run ./train --db-password=TTT --epochs=3", "cannot run ./train --db-password=*** --epochs=3"},
           // What messages say of other things.
           {"no rows for key=uid, pass=3 of 5, batch=7: 9", "no rows for key=uid, pass=3 of 5, batch=7: 9"},
           {"wrong password: give it in a file", "wrong password: give it in a file"},
           {"--token= is empty: and token:", "--token= is empty: and token:"}}) {
    EXPECT_EQ(without_secrets(text, {}), shown);
  }
  EXPECT_EQ(without_secrets("is it true?", std::vector<std::string>{"HTTP_AUTH=true"}), "is it true?");
}

TEST(TerminationLog, IsOneLineOfBoundedLength) {
  TempFolder folder;
  auto const path = (folder / "log").string();
  EXPECT_TRUE(write_termination_log(path, "trainer 1\nfailed\tbecause\x1b[31m of s3cr3t", environment));
  EXPECT_EQ(read_file(path), "trainer 1 failed because [31m of ***\n");
  EXPECT_TRUE(write_termination_log(path, "short", environment));
  EXPECT_EQ(read_file(path), "short\n") << "the one before is replaced";
  std::string longest;
  while (longest.size() < 9000) longest += "ü";
  EXPECT_TRUE(write_termination_log(path, longest, environment));
  auto const text = read_file(path);
  EXPECT_LE(text.size(), 4096U);
  EXPECT_TRUE(text.ends_with("ü...\n")) << "no letter is cut in two";
}

TEST(TerminationLog, MakesNoFileInDev) {
  EXPECT_FALSE(write_termination_log("/dev/prdist-no-such-log", "x", environment));
  EXPECT_FALSE(std::filesystem::exists("/dev/prdist-no-such-log"));
  EXPECT_FALSE(write_termination_log("/no/such/folder/log", "x", environment));
}

TEST(TerminationLog, HasAPathOfItsOwnInTests) {
  EXPECT_EQ(termination_log_path(environment_of({})), "/dev/termination-log");
  EXPECT_EQ(termination_log_path(environment_of({{"PRDIST_TERMINATION_LOG", "/x"}})), "/x");
}
