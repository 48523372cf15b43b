// SPDX-License-Identifier: Apache-2.0
#include "secrecy.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "keys.hpp"

namespace prdist::gen {

namespace {

bool word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

/// scheme://user:password@host, unless the password is a variable's.
bool address_with_password(std::string_view text) {
  for (std::size_t i = 0; (i = text.find("://", i)) != std::string_view::npos; i += 3) {
    auto const rest = text.substr(i + 3);
    auto const authority = rest.substr(0, rest.find_first_of("/ \t\"'"));
    auto const sign = authority.rfind('@');
    if (sign == std::string_view::npos) continue;
    auto const colon = authority.find(':');
    if (colon < sign && colon + 1 != sign && authority[colon + 1] != '$') return true;
  }
  return false;
}

/// The last words of the keys whose values are secrets, in every spelling: ak, sk, ugi, fs_ugi.
bool secret_key(std::string_view word) {
  if (word == "fs_ugi") return true;  // PaddleRec 1.8's; the others end like the key itself
  for (auto const& key : keys()) {
    if (key.rule == Rule::secret && word == key.path.substr(key.path.rfind('.') + 1)) return true;
  }
  return false;
}

/// What secrets and volumes name is the name of a Secret: the word alone is no reason to hide a line.
struct Line {
  std::vector<std::string_view> anchors{};  ///< named by '&' or '*'
  bool secret = false;
  bool names_secrets = false;  ///< submit.secrets or submit.volumes
  bool only_word = false;      ///< 'secret:' and nothing else that sounds so
};

Line examined(std::string_view text) {
  Line line;
  line.secret = address_with_password(text);
  bool const pairs = text.find("value") != std::string_view::npos;  // {name: X_PASSWORD, value: ...}
  for (std::size_t i = 0; i < text.size();) {
    if (!word_letter(text[i])) {
      ++i;
      continue;
    }
    auto const begin = i;
    while (i < text.size() && word_letter(text[i])) ++i;
    auto const word = text.substr(begin, i - begin);
    if (begin > 0 && (text[begin - 1] == '&' || text[begin - 1] == '*')) line.anchors.push_back(word);
    auto next = i;
    while (next < text.size() && (text[next] == ' ' || text[next] == '"' || text[next] == '\'')) ++next;
    bool const named = next < text.size() && (text[next] == ':' || text[next] == '=');
    // A flag of a command has its value in the next word.
    if (word.starts_with("--") && sounds_secret(word)) line.secret = true;
    if (named && (word == "secrets" || word == "volumes")) line.names_secrets = true;
    if (named && word == "secret") {
      line.only_word = true;
    } else if ((named || pairs) && (secret_key(word) || sounds_secret(word))) {
      line.secret = true;
    }
  }
  return line;
}

bool secret_path(std::string_view path) {
  for (;;) {
    auto const dot = path.find_first_of(".[");
    auto const word = path.substr(0, dot);
    if (word != "secret" && (secret_key(word) || sounds_secret(word))) return true;
    if (dot == std::string_view::npos) return false;
    path.remove_prefix(dot + 1);
  }
}

/// A line and those that it stands below, as indentation tells. Fed with lines from the first upwards.
class Ancestry {
 public:
  /// False when there is no need to go on.
  bool climb(std::string_view line) {
    auto const indent = line.find_first_not_of(" \t\r");
    if (indent == std::string_view::npos || line[indent] == '#') return true;
    bool const item = line[indent] == '-';
    bool const parent = seen_ == 0 || indent < indent_ || (item_ && !item && indent == indent_);
    // In a flow of many lines indentation says nothing, but a key without a value has it in the next line.
    bool const dangling = seen_ == 1 && line[line.find_last_not_of(" \t\r")] == ':';
    ++seen_;
    if (parent || dangling) {
      auto const found = examined(line);
      secret_ = secret_ || found.secret;
      only_word_ = only_word_ || found.only_word;
      names_secrets_ = names_secrets_ || found.names_secrets;
      anchors_.insert(anchors_.end(), found.anchors.begin(), found.anchors.end());
    }
    if (parent) {
      indent_ = indent;
      item_ = item;
    }
    return !secret_ && (indent_ != 0 || item_);
  }

  [[nodiscard]] bool secret() const { return secret_ || (only_word_ && !names_secrets_); }
  [[nodiscard]] std::vector<std::string_view> const& anchors() const { return anchors_; }

 private:
  std::vector<std::string_view> anchors_;
  std::size_t seen_ = 0;
  std::size_t indent_ = 0;
  bool item_ = false;
  bool secret_ = false;
  bool only_word_ = false;
  bool names_secrets_ = false;
};

/// The line that begins at `begin`, and those above that it belongs to.
Ancestry ancestry(std::string_view text, std::size_t begin) {
  Ancestry lines;
  while (lines.climb(text.substr(begin, text.find('\n', begin) - begin)) && begin != 0) {
    begin = begin == 1 ? 0 : text.rfind('\n', begin - 2) + 1;
  }
  return lines;
}

/// Whether one of the anchors is named in a line that holds a secret, or beside an anchor that is.
bool tied_to_secret(std::string_view text, std::vector<std::string_view> anchors) {
  std::size_t looked_at = 0;
  for (std::size_t known = 0; known < anchors.size(); ++known) {
    auto const name = anchors[known];
    if (std::find(anchors.begin(), anchors.begin() + static_cast<std::ptrdiff_t>(known), name) !=
        anchors.begin() + static_cast<std::ptrdiff_t>(known)) {
      continue;
    }
    for (std::size_t i = 0; (i = text.find(name, i)) != std::string_view::npos; i += name.size()) {
      if (i == 0 || (text[i - 1] != '&' && text[i - 1] != '*')) continue;
      if (++looked_at > 100) return true;  // who uses that many will not miss the line
      auto const lines = ancestry(text, text.rfind('\n', i) + 1);
      if (lines.secret()) return true;
      anchors.insert(anchors.end(), lines.anchors().begin(), lines.anchors().end());
    }
  }
  return false;
}

/// The shared values below keys that sound secret.
void collect(Node const& node, bool secret, bool names_secrets, std::set<std::string>& out) {
  if (node.kind == Node::Kind::scalar && secret && node.shared && !node.text.empty()) out.insert(node.text);
  for (auto const& item : node.items) collect(item, secret, names_secrets, out);
  auto const* const name = node.find("name");
  bool const pair = name != nullptr && sounds_secret(name->text);  // {name: X_PASSWORD, value: ...}
  for (auto const& [key, value] : node.entries) {
    bool const names = names_secrets || key.text == "secrets" || key.text == "volumes";
    bool const sounds = key.text == "secret" ? !names : secret_key(key.text) || sounds_secret(key.text);
    collect(value, secret || sounds || (pair && key.text == "value"), names, out);
  }
}

}  // namespace

bool sounds_secret(std::string_view given) {
  std::string name(given);
  for (auto& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (std::string_view const end :
       {"PASSWORD",    "PASSWD",    "PASSPHRASE", "SECRET", "SECRET_KEY",  "SECRETKEY",  "TOKEN",
        "ACCESS_KEY",  "ACCESSKEY", "API_KEY",    "APIKEY", "PRIVATE_KEY", "PRIVATEKEY", "CREDENTIAL",
        "CREDENTIALS", "_AK",       "_SK",        "_UGI",   "_PASS",       "_PWD",       "_PAT"}) {
    if (name.ends_with(end)) return true;
  }
  return name == "AK" || name == "SK" || name == "PASS" || name == "PAT";
}

bool holds_secret(std::string_view name, std::string_view value) {
  if (value.empty()) return false;
  // GOOGLE_APPLICATION_CREDENTIALS and its like name a file, BUILD_PWD a folder.
  bool const path = value.front() == '/' && (name.ends_with("CREDENTIALS") || name.ends_with("PWD"));
  return address_with_password(value) || (sounds_secret(name) && !path);
}

bool secret_word(std::string_view word, std::string_view next) {
  if (address_with_password(word)) return true;
  auto const equals = word.find('=');
  auto name = word.substr(0, equals);
  bool const flag = name.starts_with('-');
  while (name.starts_with('-')) name.remove_prefix(1);
  auto const value = equals == std::string_view::npos ? (flag ? next : std::string_view{}) : word.substr(equals + 1);
  bool const other_flag = equals == std::string_view::npos && value.starts_with('-');
  if (value.empty() || value.starts_with('$') || other_flag) return false;
  return secret_key(name) || holds_secret(name, value);
}

std::vector<FoundSecret> find_secrets(Node const& document) {
  std::vector<FoundSecret> found;
  for (auto const& item : document.items) {
    auto below = find_secrets(item);
    found.insert(found.end(), below.begin(), below.end());
  }
  for (auto const& [key, value] : document.entries) {
    if (value.kind != Node::Kind::scalar) {
      auto below = find_secrets(value);
      found.insert(found.end(), below.begin(), below.end());
      continue;
    }
    bool const named = secret_key(key.text) && !value.text.empty();
    if (!value.text.starts_with('$') && (named || holds_secret(key.text, value.text))) {
      auto const end = key.text.size() < 5 ? key.text : key.text.substr(key.text.size() - 5);
      found.push_back({at(key.where, key.text), key.text, end == "token" || end == "TOKEN"});
    }
  }
  return found;
}

bool secret_line(Where const& where) {
  if (!where.source) return false;
  // A flag's source is its value alone; its name says what it is.
  bool const flag = where.source->name.starts_with("--set ");
  if (secret_path(flag ? std::string_view(where.source->name).substr(6) : std::string_view(where.path))) return true;
  std::string_view const text = where.source->text;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < where.line; ++i) {
    begin = text.find('\n', begin) + 1;
    if (begin == 0) return false;  // there is no such line
  }
  auto const lines = ancestry(text, begin);
  return lines.secret() || tied_to_secret(text, lines.anchors());
}

void hide_shared_secrets(Node const& document, Diagnostics& diagnostics) {
  std::set<std::string> secrets;
  collect(document, false, false, secrets);
  for (auto const& secret : secrets) diagnostics.hide(secret);
}

}  // namespace prdist::gen
