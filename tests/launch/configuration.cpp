#include <prdist/launch/configuration.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using Words = std::vector<std::string>;

TEST(Configuration, HasTheSeedsForm) {
  EXPECT_EQ(configuration_lines({{"with_gloo", "1"}, {"devices", "6,7"}}),
            (Words{"-----------  Configuration  ----------------------", "devices: 6,7", "with_gloo: 1",
                   "--------------------------------------------------"}));
}

TEST(Configuration, ShowsArgumentsAsPythonDoes) {
  EXPECT_EQ(shown_arguments(Words{}, {}), "[]");
  EXPECT_EQ(shown_arguments(Words{"--my-arg", "1", "", "it's", "a\nb\x1b"}, {}),
            "['--my-arg', '1', '', 'it\\'s', 'a\\nb?']");
}

TEST(Configuration, MasksArgumentsForCommandsThatArePrinted) {
  EXPECT_EQ(masked_arguments(Words{"--token", "abc", "a b\n", "SK=x"}, {}),
            (Words{"--token", "***", "a b\n", "SK=***"}));
}

TEST(Configuration, MasksEverySpellingOfASecret) {
  EXPECT_EQ(masked_arguments(Words{"--apikey=a1", "--pass", "b2", "--pwd=c3", "--auth=d4", "--private-key=e5", "--key",
                                   "f6", "-H", "Authorization: Bearer g7==", "--key_dim", "16", "--tokenizer=bert",
                                   "--pass_id", "3", "--keys-per-batch", "4"},
                             {}),
            (Words{"--apikey=***", "--pass", "***", "--pwd=***", "--auth=***", "--private-key=***", "--key", "***",
                   "-H", "Authorization: Bearer ***", "--key_dim", "16", "--tokenizer=bert", "--pass_id", "3",
                   "--keys-per-batch", "4"}));
  EXPECT_EQ(masked_arguments(Words{"x-hunter2-y", "in /here"}, Words{"DB_PASS=hunter2", "PWD=/here"}),
            (Words{"x-***-y", "in /here"}));
  // A password may begin with a hyphen.
  EXPECT_EQ(masked_arguments(Words{"--password", "-hunter2", "-v", "--password", "--epochs", "3"}, Words{}),
            (Words{"--password", "***", "-v", "--password", "--epochs", "3"}));
}

TEST(Configuration, ShowsNoSecret) {
  Words const environment{"DB_PASSWORD=hunter2", "HOME=/home/me"};
  EXPECT_EQ(shown_arguments(Words{"--token", "abc", "--api-key=def", "AWS_SECRET=ghi", "url=http://u:pw@host/",
                                  "x-hunter2-y", "--password", "--epochs", "3"},
                            environment),
            "['--token', '***', '--api-key=***', 'AWS_SECRET=***', 'url=http://u:***@host/', 'x-***-y', "
            "'--password', '--epochs', '3']");
}
