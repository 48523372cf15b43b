// SPDX-License-Identifier: Apache-2.0
#include "common.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prckpt {

using namespace prdist;

std::string utc_now() {
  auto const now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string mebibytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

bool is_pass(std::string const& path) {
  std::error_code failed;
  return std::filesystem::exists(path + "/manifest.json", failed) || std::filesystem::exists(path + "/done", failed);
}

std::string const& folder(std::string const& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) {
    throw Error(Errc::checkpoint_missing, path, ", is no folder: check the path");
  }
  return path;
}

Checkpoint chosen(std::string const& path) {
  if (is_pass(folder(path))) return open_checkpoint(path);
  if (auto newest = latest(path)) return std::move(*newest);
  throw Error(Errc::checkpoint_missing, path, ", has no complete checkpoint: save one first, or check the path");
}

std::string summary(Checkpoint const& checkpoint) {
  auto const& manifest = checkpoint.manifest;
  std::uint64_t rows = 0, bytes = 0;
  std::string names;
  for (auto const& table : manifest.tables) {
    rows += table.rows;
    names += concat(names.empty() ? "" : ", ", name_of(table.spec));
  }
  for (auto const* const part : manifest.files()) bytes += part->bytes;
  return concat(pass_name(manifest.pass), "  ",
                manifest.base ? concat("changes since ", pass_name(manifest.base->pass)) : std::string("full"),
                ", step ", manifest.step, ", tables ", names, ", ", rows, " rows, ", mebibytes(bytes), ", ",
                manifest.servers, manifest.servers == 1 ? " server" : " servers", ", ", manifest.trainers.size(),
                " workers' places, ", manifest.created);
}

void say(std::string const& line) {
  std::printf("%s\n", line.c_str());
}

Shown::~Shown() {
  if (drawn_) std::fputs("\n", stderr);
}

void Shown::operator()(std::string const& what, std::uint64_t rows) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::fprintf(stderr, "\r%s: %llu rows", what.c_str(), static_cast<unsigned long long>(rows));
  drawn_ = true;
}

}  // namespace prckpt
