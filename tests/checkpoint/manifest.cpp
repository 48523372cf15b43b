#include <prdist/checkpoint/manifest.hpp>

#include <gtest/gtest.h>

#include <string>

#include "sample.hpp"

namespace prdist {
namespace {

Manifest whole() {
  auto manifest = manifest_of(1234);
  manifest.pass = 7;
  manifest.servers = 2;
  manifest.base = CheckpointBase{6, "00112233445566aa"};
  for (std::uint32_t server : {0U, 1U}) {
    add_part(manifest, {.name = part_name(server),
                        .server = server,
                        .bytes = 4096 + server,
                        .checksum = 0xfedcba9876543210 + server,
                        .tables = {{table_id("embedding"), 10, 2, 200}, {table_id("dense"), 1, 0, 24}}});
  }
  manifest.trainers = {{.index = 0,
                        .position = {.epoch = 3,
                                     .file = 2,
                                     .name = "train/\"part\"-001",
                                     .file_size = 999,
                                     .offset = 12345,
                                     .line = 67,
                                     .taken = 0,
                                     .rows = 89,
                                     .skipped = 1,
                                     .source = ~std::uint64_t{0},
                                     .files = std::vector<std::string>{"train/part-000", "train/\"part\"-001"},
                                     .sizes = {24242, 999},
                                     .shuffle = 17},
                        .program = R"({"auc":7.5E-1,"days":[1,2]})"},
                       {.index = 1,
                        .copy = PartSummary{.name = "copy-001",
                                            .server = 1,
                                            .bytes = 777,
                                            .checksum = 0x1234,
                                            .tables = {{table_id("embedding"), 5, 0, 100}}}},
                       {.index = 2,
                        .position = {.epoch = 3,
                                     .files = std::vector<std::string>{},
                                     .rest = std::vector<DataPiece>{{.epoch = 2,
                                                                     .name = "train/part-007",
                                                                     .number = 5,
                                                                     .file_size = 70,
                                                                     .offset = 7,
                                                                     .line = 6,
                                                                     .taken = 4},
                                                                    {.epoch = 3, .name = "x"}}}},
                       {.index = 3, .position = {.rest = std::vector<DataPiece>{}}}};
  return manifest;
}

std::string without(std::string text, std::string const& what, std::string const& instead) {
  auto const at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), instead);
}

std::string reading(std::string const& text) {
  return error_of([&] { (void)manifest_from_json(text, "d/manifest.json"); });
}

constexpr auto way_out = ": restore the file from a copy, or load an older checkpoint";

TEST(Manifest, ComesBackAsItWasWritten) {
  auto const manifest = whole();
  auto const text = to_json(manifest);
  EXPECT_EQ(manifest_from_json(text, "m"), manifest);
  EXPECT_EQ(to_json(manifest_from_json(text, "m")), text);
  EXPECT_EQ(manifest.tables[0].rows, 20U);
  EXPECT_EQ(manifest.tables[1].bytes, 48U);
  EXPECT_EQ(manifest.find(table_id("dense")), &manifest.tables[1]);
  EXPECT_EQ(manifest.find(1), nullptr);
}

TEST(Manifest, ItsFilesArePartsAndCopies) {
  auto const manifest = whole();
  std::vector<std::string> names;
  for (auto const* const file : manifest.files()) names.push_back(file->name);
  EXPECT_EQ(names, (std::vector<std::string>{"part-000", "part-001", "copy-001"}));
}

TEST(Manifest, ACopyIsOfItsWorkerAndInItsFolder) {
  auto const text = to_json(whole());
  EXPECT_EQ(reading(without(text, "\"name\": \"copy-001\"", "\"name\": \"../copy-001\"")),
            concat("prdist[checkpoint.damaged] d/manifest.json, trainers[1].copy.name is not copy-001", way_out));
  EXPECT_EQ(reading(without(without(text, "\"name\": \"copy-001\"", "\"name\": \"copy-002\""), "\"worker\": 1",
                            "\"worker\": 2")),
            concat("prdist[checkpoint.damaged] d/manifest.json, trainers[1].copy.worker is not 1", way_out));
}

TEST(Manifest, NamesOfFilesAreBytes) {
  auto manifest = whole();
  std::string const name = "train/\xff\xc3(\x80";
  auto& trainer = manifest.trainers[0];
  trainer.position.name = name;
  trainer.position.files->back() = name;
  trainer.program = "\"" + name + "\"";
  EXPECT_EQ(manifest_from_json(to_json(manifest), "m"), manifest);
  EXPECT_EQ(trainer_from_json(to_json(trainer), "worker 0"), trainer);
}

TEST(Manifest, IsReadableAndInAFixedOrder) {
  auto const text = to_json(manifest_of(5));
  EXPECT_TRUE(
      text.starts_with("{\n"
                       "  \"format\": 1,\n"
                       "  \"prdist\": \"" +
                       std::string(version) +
                       "\",\n"
                       "  \"created\": \"2026-01-02T03:04:05Z\",\n"
                       "  \"pass\": 0,\n"
                       "  \"step\": 5,\n"
                       "  \"strategy\": \"async\",\n"
                       "  \"servers\": 1,\n"
                       "  \"shards\": 256,\n"
                       "  \"kind\": \"full\",\n"
                       "  \"tables\": [\n"
                       "    {\n"
                       "      \"spec\": {\n"
                       "        \"name\": \"embedding\",\n"))
      << text;
  EXPECT_TRUE(text.ends_with("  \"parts\": [],\n  \"trainers\": []\n}\n")) << text;
}

TEST(Manifest, WhatIsWrongIsNamedByFileAndPath) {
  auto const text = to_json(whole());
  auto const expect = [&](std::string const& what, std::string const& instead, std::string const& error) {
    EXPECT_EQ(reading(without(text, what, instead)), "prdist[checkpoint.damaged] d/manifest.json, " + error + way_out);
  };
  expect("\"step\": 1234,", "", "step is missing");
  expect("\"step\": 1234", "\"step\": \"x\"", "step is not a whole number in range");
  expect("\"step\": 1234", "\"step\": -1", "step is not a whole number in range");
  expect("\"step\": 1234", "\"step\": 1.5", "step is not a whole number in range");
  expect("\"strategy\": \"async\"", "\"strategy\": 3", "strategy is not a text");
  expect("\"kind\": \"changed\"", "\"kind\": \"half\"", "kind is neither full nor changed");
  expect("\"base\"", "\"Base\"", "base is missing");
  expect("\"shards\": 256", "\"shards\": 128", "shards is 128, and this release places keys on 256");
  expect("\"bytes\": 4097", "\"bytes\": null", "parts[1].bytes is not a whole number in range");
  expect("\"name\": \"part-001\"", "\"name\": \"../../x\"", "parts[1].name is not part-001");
  expect("\"fedcba9876543210\"", "\"0xdcba9876543210\"", "parts[0].checksum is not 16 hexadecimal digits");
  expect("\"offset\": 12345,", "", "trainers[0].position.offset is missing");
  expect("\"number\": 5,", "", "trainers[2].position.rest[0].number is missing");
  expect("\"train/part-000\",", "8,", "trainers[0].position.files[0] is not a text");
  expect("24242,", "", "trainers[0].position.sizes has 1 for 2 files");
  expect("24242,", "-1,", "trainers[0].position.sizes[0] is not a whole number in range");
  expect("\"shuffle\": 17", "\"shuffle\": -1", "trainers[0].position.shuffle is not a whole number in range");
  expect("\"dim\": 2,", "", "tables[0].spec is no declaration, table 'embedding'.dim is missing");
  expect("\"part-001\",\n      \"server\": 1", "\"part-000\",\n      \"server\": 0",
         "parts[1].server stands in two parts");
  EXPECT_EQ(reading("[]"),
            std::string("prdist[checkpoint.damaged] d/manifest.json, the document is not an object") + way_out);
  EXPECT_EQ(reading(R"({"format":1,"prdist":"","created":"","pass":0,"step":0,"strategy":"","servers":1,"shards":256,)"
                    R"("kind":"full","tables":{}})"),
            std::string("prdist[checkpoint.damaged] d/manifest.json, tables is not a list") + way_out);
  EXPECT_TRUE(reading("{\"format\": 1").starts_with("prdist[checkpoint.damaged] d/manifest.json, is not JSON, "));
}

TEST(Manifest, AnotherFormatIsRefusedByItsNumber) {
  EXPECT_EQ(reading(R"({"format": 2})"),
            "prdist[checkpoint.version] d/manifest.json, was written in format 2, this release reads up to 1: use the "
            "release that wrote it, or a later one");
  EXPECT_NE(reading(R"({"format": 0})").find("checkpoint.version"), std::string::npos);
}

TEST(Manifest, TextCutAnywhereIsAnError) {
  auto const text = to_json(whole());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) EXPECT_NE(reading(text.substr(0, size)), "no error");
}

TEST(Manifest, RefusesRowsOfATableItDoesNotHave) {
  auto manifest = manifest_of(0);
  EXPECT_EQ(error_of([&] {
              add_part(manifest, {.name = "part-004", .server = 4, .tables = {{77, 1, 0, 1}}});
            }),
            "prdist[table.unknown] server 4, part-004 has rows of table 77, which the checkpoint does not declare: "
            "declare every table before saving");
}

TEST(Manifest, RefusesAProgramsTextThatIsNotJson) {
  auto manifest = manifest_of(0);
  manifest.trainers = {{.index = 3, .program = "{"}};
  auto const said = error_of([&] { (void)to_json(manifest); });
  EXPECT_TRUE(said.starts_with("prdist[config.invalid] what the program of trainer 3 keeps is not JSON, ")) << said;
  EXPECT_TRUE(said.ends_with(": give one JSON value, or null")) << said;
}

TEST(PartSummary, TravelsAsJson) {
  auto const part = whole().parts[1];
  EXPECT_EQ(part_from_json(to_json(part), "server 1"), part);
  EXPECT_EQ(error_of([] { (void)part_from_json("{}", "server 1"); }),
            std::string("prdist[checkpoint.damaged] server 1, name is missing") + way_out);
}

}  // namespace
}  // namespace prdist
