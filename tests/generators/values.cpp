// SPDX-License-Identifier: Apache-2.0
// quantity.hpp, names.hpp and quoting.hpp: the small functions that everything else rests on.
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "names.hpp"
#include "quantity.hpp"
#include "quoting.hpp"
#include "support.hpp"
#include "yaml_reader.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;
using prdist::concat;

TEST(Quantity, ReadsWhatTheApiserverReads) {
  auto const value = [](std::string_view text) { return static_cast<double>(parse_quantity(text).value_or(-1)); };
  EXPECT_EQ(value("4Gi"), 4294967296.0);
  EXPECT_EQ(value("500m"), 0.5);
  EXPECT_EQ(value("1.5"), 1.5);
  EXPECT_EQ(value("2e3"), 2000);
  EXPECT_EQ(value("2E3"), 2000);
  EXPECT_EQ(value("1E"), 1e18);
  EXPECT_EQ(value("1Ei"), 1152921504606846976.0);
  EXPECT_EQ(value(".5"), 0.5);
  EXPECT_EQ(value("5."), 5);
  EXPECT_EQ(value("+1k"), 1000);
  for (auto const* const wrong :
       {"", "Gi", "4GiB", "4GB", "4 Gi", "4gi", "1_000", "0x10", "1e", "1e99", "nan", "inf", "--1", "4Gi "}) {
    EXPECT_FALSE(parse_quantity(wrong)) << wrong;
  }
}

TEST(Quantity, GuessesWhatWasMeant) {
  EXPECT_EQ(quantity_meant("4GiB"), "4Gi");
  EXPECT_EQ(quantity_meant("4GB"), "4Gi");
  EXPECT_EQ(quantity_meant("4 gi"), "4Gi");
  EXPECT_EQ(quantity_meant("512mb"), "512Mi");
  EXPECT_EQ(quantity_meant("2 cores"), "2");
  EXPECT_EQ(quantity_meant("many"), "");
  EXPECT_EQ(quantity_meant("4 elephants"), "");
}

TEST(Quantity, WritesTotalsShort) {
  EXPECT_EQ(bytes_text(16.0L * 1024 * 1024 * 1024), "16Gi");
  EXPECT_EQ(bytes_text(1536.0L * 1024 * 1024), "1536Mi");
  EXPECT_EQ(cores_text(8), "8");
  EXPECT_EQ(cores_text(0.5L), "500m");
  EXPECT_EQ(cores_text(1e24L), "9000000000000000");  // more than a number holds
}

TEST(Names, LabelsAreThoseOfServices) {
  EXPECT_EQ(label_fault("ctr-dnn"), "");
  EXPECT_NE(label_fault("PaddleRec_CTR"), "");
  EXPECT_NE(label_fault("1ctr"), "");
  EXPECT_NE(label_fault("-ctr"), "");
  EXPECT_NE(label_fault("ctr-"), "");
  EXPECT_NE(label_fault(""), "");
  EXPECT_NE(label_fault("a.b"), "");
  EXPECT_EQ(label_fault(std::string(63, 'a')), "");
  EXPECT_NE(label_fault(std::string(64, 'a')), "");
  EXPECT_EQ(label_from("PaddleRec_CTR"), "paddlerec-ctr");
  EXPECT_EQ(label_from("42 answers!"), "answers");
  EXPECT_EQ(label_from("你好"), "");
}

TEST(Names, Images) {
  for (auto const* const right :
       {"ctr", "ctr:1.0", "team/ctr:1", "hub.baidubce.com/ctr/paddlerec:alpha", "localhost:5000/ctr",
        "your_repo/paddle:mypaddle", "a__b/c--d.e_f:1", "Hub.example.com:443/x",
        "h.x/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(image_fault(right), "") << right;
  }
  for (auto const* const wrong :
       {"",         "CTR",    "a b",    "a:",         "a:b c",     "a//b",       "a@sha256:12",
        "a:$(id)",  "-a",     "a\nb",   "http://a/b", "h:abc/x:1", "h.io:1:2/x", "h.io:/x",
        "a..b/x:1", "a.-b:1", "a._b:1", "a___b:1",    "-h.io/x",   "h-.io/x"}) {
    EXPECT_NE(image_fault(wrong), "") << wrong;
  }
  EXPECT_EQ(image_tag("localhost:5000/ctr"), "");
  EXPECT_EQ(image_tag("localhost:5000/ctr:2"), "2");
}

TEST(Names, HostsNeverLookLikeOptions) {
  for (auto const* const right : {"node1", "10.0.0.4", "me@node-1", "[fe80::1]"})
    EXPECT_EQ(host_fault(right), "") << right;
  for (auto const* const wrong : {"", "-oProxyCommand=id", "a b", "a;b", "me@", "-x@node", "a\n"})
    EXPECT_NE(host_fault(wrong), "") << wrong;
}

TEST(Names, PathsThatAreTheSameFolder) {
  EXPECT_EQ(normal_path("/a//b/./c/"), "/a/b/c");
  EXPECT_EQ(normal_path("//."), "/");
  EXPECT_EQ(normal_path("/.a"), "/.a");
}

TEST(Names, ValuesAndKeysOfTheCluster) {
  EXPECT_EQ(dns_label_fault("1team"), "");
  EXPECT_NE(dns_label_fault("a.b"), "");
  EXPECT_TRUE(label_value(""));
  for (auto const* const wrong : {"a b", "a/b", "-a"}) EXPECT_FALSE(label_value(wrong)) << wrong;
  EXPECT_TRUE(data_key(".dockerconfigjson"));
  for (auto const* const wrong : {"", "a b", "a/c", ".", "..", "..a"}) EXPECT_FALSE(data_key(wrong)) << wrong;
}

TEST(Names, MountsAndVariables) {
  EXPECT_EQ(mount_fault("/home/job"), "");
  for (auto const* const wrong : {"", "home", "/a/../b", "/a:b", "/..", "/a\nb"})
    EXPECT_NE(mount_fault(wrong), "") << wrong;
  EXPECT_EQ(mount_fault("/a..b"), "");
  EXPECT_TRUE(env_name("_A1"));
  for (auto const* const wrong : {"", "1A", "A-B", "A B", "Ä"}) EXPECT_FALSE(env_name(wrong)) << wrong;
  EXPECT_TRUE(qualified_name("kubernetes.io/arch"));
  EXPECT_FALSE(qualified_name("/arch"));
  EXPECT_FALSE(qualified_name("a b"));
}

/// Strings that have broken generators: of YAML, of shells, of terminals.
std::vector<std::string> hostile() {
  std::vector<std::string> all{"",
                               " ",
                               "yes",
                               "N",
                               "null",
                               "~",
                               "017",
                               "1e3",
                               "0x1f",
                               "12:30:45",
                               "- a",
                               "a: b",
                               "a #b",
                               "#",
                               "&a",
                               "*a",
                               "!x",
                               "|",
                               ">",
                               "%",
                               "@",
                               "`",
                               "{a}",
                               "[a]",
                               "\"",
                               "'",
                               "\\",
                               "\\n",
                               "a\nb",
                               "a\r\nb",
                               "\t",
                               "---",
                               "...",
                               "\n---\n",
                               "? a",
                               "${x}",
                               "$(id)",
                               "{{ x }}",
                               "{% %}",
                               "{# #}",
                               "##  x",
                               "a'b\"c",
                               "\x7f",
                               "\xC2\x85",
                               "\xE2\x80\xA8",
                               "\xEF\xBB\xBF",
                               "\xEF\xBF\xBE",
                               "\xF0\x9F\x98\x80",
                               "\xC2\xA0",
                               "你好",
                               "\x01\x1b[31m",
                               "@prgen-0@",
                               "\"@prgen-1@\"",
                               "x\n  namespace: kube-system",
                               "#&\n"};
  all.emplace_back(70'000, 'x');
  return all;
}

TEST(Quoting, YamlGivesEveryStringBack) {
  for (auto const& text : hostile()) {
    Diagnostics diagnostics;
    auto const node = read_yaml(source("k: " + yaml_quoted(text) + "\n"), {}, diagnostics);
    ASSERT_TRUE(node) << text;
    EXPECT_EQ(node->find("k")->text, text);
    EXPECT_TRUE(node->find("k")->quoted);
    EXPECT_EQ(yaml_quoted(text).find('\n'), std::string::npos);
  }
}

TEST(Quoting, CommandsMeanInAShellWhatTheyMeanInAPod) {
  EXPECT_EQ(shell_expanded("plain"), "plain");
  EXPECT_EQ(shell_expanded(""), "''");
  EXPECT_EQ(shell_expanded("$(PRDIST_CONFIG)"), R"("${PRDIST_CONFIG-\$(PRDIST_CONFIG)}")");
  EXPECT_EQ(shell_expanded("it's $(A)/b"), R"('it'\''s '"${A-\$(A)}"/b)");
  EXPECT_EQ(shell_expanded("$$(A)"), "'$(A)'");
  for (auto const* const as_it_is : {"$(id -u)", "$(A", "$A", "`id`", "$()"}) {
    EXPECT_EQ(shell_expanded(as_it_is), concat('\'', as_it_is, '\'')) << as_it_is;
  }
}

TEST(Quoting, BlocksGiveEveryStringBackToo) {
  auto all = hostile();
  for (auto const& text : hostile()) {
    all.push_back(text + "\n");
    all.push_back("a: b\n" + text + "\n");
    all.push_back(text + "\n\n  c: \"d\"\n");
  }
  all.emplace_back("a:\n  - b: \"c\"  # d\n\n  e: 'f'\n");
  std::size_t blocks = 0;
  for (auto const& text : all) {
    Diagnostics diagnostics;
    auto const block = yaml_block(text, 4);
    auto const node = read_yaml(source("a:\n  k: " + block + "\n  l: 1\n"), {}, diagnostics);
    ASSERT_TRUE(node) << text;
    EXPECT_EQ(node->find("a")->find("k")->text, text);
    EXPECT_TRUE(node->find("a")->find("k")->quoted);
    EXPECT_EQ(node->find("a")->find("l")->text, "1");
    if (block.starts_with('|')) ++blocks;
  }
  EXPECT_GT(blocks, 10U);
}

TEST(Quoting, WhatNoReaderGivesBackIsRefused) {
  EXPECT_THROW(static_cast<void>(yaml_quoted(std::string("a\0b", 3))), prdist::Error);
  EXPECT_THROW(static_cast<void>(yaml_quoted("\xC4\xE3")), prdist::Error);
  EXPECT_THROW(static_cast<void>(yaml_quoted("\xED\xA0\x80")), prdist::Error);
  EXPECT_THROW(static_cast<void>(shell_quoted(std::string("a\0b", 3))), prdist::Error);
  EXPECT_THROW(static_cast<void>(ini_value("a\"b")), prdist::Error);
  EXPECT_THROW(static_cast<void>(ini_value("a\nb")), prdist::Error);
  EXPECT_THROW(static_cast<void>(plain_word("a b")), prdist::Error);
}

TEST(Quoting, ShellGivesEveryStringBack) {
  std::string script;
  std::string expected;
  for (auto const& text : hostile()) {
    if (text.size() > 1000) continue;
    script += "printf '%s\\036' " + shell_quoted(text) + "\n";
    expected += text + '\036';
  }
  auto const path = testing::TempDir() + "prgen_quoting.sh";
  {
    auto* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fwrite(script.data(), 1, script.size(), file);
    std::fclose(file);
  }
  auto* const pipe = ::popen(("sh " + path).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string got;
  char chunk[4096];
  for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) got.append(chunk, n);
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(got, expected);
}

TEST(Quoting, NoStringChangesTheStructureOfAManifest) {
  Options options;
  for (auto const& text : hostile()) {
    // Wherever a free string may stand: an argument, a variable, a file of a ConfigMap.
    if (text.empty()) continue;
    Diagnostics diagnostics;
    auto const file = source(good("    env:\n      X: " + yaml_quoted(text) + "\n"));
    options.command = {"run", text};
    options.overrides = {{"submit.cpu", "2"}};
    auto const config = source("note: " + yaml_quoted(text) + "\n# " + yaml_quoted(text) + "\n", "config.yaml");
    auto const job = load(file, config, options, diagnostics);
    ASSERT_TRUE(job && !diagnostics.failed()) << text << ' ' << codes(diagnostics);
    Renderer renderer(PRGEN_TEMPLATES);
    auto const files = render(*job, options, renderer, diagnostics);
    auto const documents = documents_of(files[0].text);
    ASSERT_EQ(documents.size(), 5U) << text;
    EXPECT_EQ(documents[1]["data"]["config.yaml"], config->text);
    auto const& container = documents[4]["spec"]["template"]["spec"]["containers"][0];
    EXPECT_EQ(container["command"].back(), text);
    auto const& env = container["env"];
    EXPECT_EQ(env.back()["value"], text);
    EXPECT_FALSE(documents[4]["metadata"].contains("namespace"));
  }
}

}  // namespace
