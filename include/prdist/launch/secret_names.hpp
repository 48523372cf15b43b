// SPDX-License-Identifier: Apache-2.0
// Which flags and variables hold something to keep, by the words of their names: all there is to go by. A name too many
// costs a *** in a printed line, one too few a password; but the value of a variable is hidden wherever it stands, so
// words that models count with (tokens, passes, keys) are told from those.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prdist {

namespace detail {

/// The words of a name in small letters, without numbers behind them: "DB_PASS2", "--api-key" and "clientAuth" have
/// two.
[[nodiscard]] inline std::vector<std::string> words_of_name(std::string_view name) {
  auto const at = [&](std::size_t i) { return i < name.size() ? static_cast<unsigned char>(name[i]) : '\0'; };
  std::vector<std::string> words;
  std::string word;
  auto const finish = [&] {
    while (!word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0) word.pop_back();
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    bool const upper = std::isupper(at(i)) != 0;
    // A capital begins a word behind a small letter (apiKey), and as the last of several (APIKey).
    bool const begins = upper && i > 0 && (std::isupper(at(i - 1)) == 0 || std::islower(at(i + 1)) != 0);
    if (begins || std::isalnum(at(i)) == 0) finish();
    if (std::isalnum(at(i)) != 0) word += static_cast<char>(std::tolower(at(i)));
  }
  finish();
  return words;
}

[[nodiscard]] inline bool is_among(std::span<std::string_view const> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace detail

/// Whether a flag or variable of this name holds something to keep. Case and separators only part its words.
[[nodiscard]] inline bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 5> anywhere{"password", "passwd", "passphrase", "secret", "credential"};
  static constexpr std::array<std::string_view, 10> whole{"ugi",        "jwt",           "apikey", "accesskey",
                                                          "privatekey", "authorization", "bearer", "authtoken",
                                                          "apitoken",   "accesstoken"};
  static constexpr std::array<std::string_view, 11> of_keys{"api", "access", "private", "auth", "signing", "encryption",
                                                            "ssh", "hmac",   "license", "aws",  "azure"};
  static constexpr std::array<std::string_view, 12> of_texts{"pad",  "eos",   "bos", "unk", "cls", "sep",
                                                             "mask", "start", "end", "per", "max", "num"};
  static constexpr std::array<std::string_view, 16> measures{"dim",   "dims",  "id",     "ids",       "size", "len",
                                                             "num",   "count", "type",   "embedding", "emb",  "mask",
                                                             "level", "limit", "length", "dropout"};
  static constexpr std::array<std::string_view, 20> of_passes{
      "start", "test", "num", "per",     "every", "last",  "first",  "max",     "end",      "save",
      "each",  "one",  "low", "current", "multi", "train", "single", "forward", "backward", "high"};
  static constexpr std::array<std::string_view, 9> switches{"no",   "use",  "enable",  "disable", "require",
                                                            "skip", "with", "without", "allow"};
  if (name == "PWD" || name == "OLDPWD") return false;  // a shell's folders
  auto const words = detail::words_of_name(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto const& word = words[i];
    std::string_view const before = i == 0 ? std::string_view() : words[i - 1];
    std::string_view const behind = i + 1 == words.size() ? std::string_view() : words[i + 1];
    for (auto const part : anywhere) {
      if (word.find(part) != std::string::npos) return true;
    }
    if (detail::is_among(whole, word)) return true;
    if (word == "key" && (words.size() == 1 || detail::is_among(of_keys, before))) return true;
    if (word == "token" && !detail::is_among(of_texts, before) && !detail::is_among(measures, behind)) return true;
  }
  if (words.empty()) return false;
  auto const& last = words.back();
  std::string_view const before = words.size() == 1 ? std::string_view() : words[words.size() - 2];
  if (last == "pass") return !detail::is_among(of_passes, before);
  if (last == "auth") return !detail::is_among(switches, words.front());
  static constexpr std::array<std::string_view, 3> short_names{"pwd", "ak", "sk"};
  return detail::is_among(short_names, last);
}

}  // namespace prdist
