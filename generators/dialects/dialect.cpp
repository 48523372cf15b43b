// SPDX-License-Identifier: Apache-2.0
#include "dialect.hpp"

#include <algorithm>
#include <cctype>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>
#include <span>

#include "../yaml_reader.hpp"
#include "aliases.hpp"
#include "values.hpp"

namespace prdist::gen {

namespace {

std::string joined(std::string_view prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : concat(prefix, '.', key);
}

/// Walks a map, handing each leaf that a table knows to the value reader.
class Walker {
 public:
  Walker(std::span<Alias const> aliases, JobSpec& job, Diagnostics& diagnostics)
      : aliases_(aliases), job_(job), diagnostics_(diagnostics) {
    for (auto const& key : keys()) paths_.emplace_back(key.path);
    for (auto const& alias : aliases_) paths_.emplace_back(alias.from);
  }

  void walk(Node const& map, std::string const& prefix) {
    for (auto const& [key, value] : map.entries) {
      auto const path = joined(prefix, key.text);
      auto where = value.kind == Node::Kind::null ? key.where : value.where;
      where.path = path;
      if (auto const* const known = resolve(path, key)) {
        take(*known, path, value, where);
      } else if (is_prefix(path)) {
        if (value.kind == Node::Kind::map) {
          walk(value, path);
        } else if (value.kind != Node::Kind::null) {
          diagnostics_.error("PR007", where, concat("a map is expected here, not ", kind_name(value)),
                             concat("write the keys below, indented: ", children(path)));
        }
      } else {
        unknown(prefix, path, key);
      }
    }
  }

 private:
  Key const* resolve(std::string const& path, Node const& key) {
    for (auto const& alias : aliases_) {
      if (alias.from != path) continue;
      if (alias.old_spelling) {
        diagnostics_.warning("PR024", at(key.where, path), "this spelling comes from the document's explanation",
                             concat("write ", alias.to));
      }
      return find_key(alias.to);
    }
    return find_key(path);
  }

  void take(Key const& key, std::string const& path, Node const& value, Where const& where) {
    if (value.kind == Node::Kind::null) return;  // a key without a value asks for the default
    for (auto const& [taken, by] : taken_) {
      if (taken == key.path) {
        diagnostics_.error("PR004", where, concat("says the same as '", by, "' of this file"), "take one of them away");
        return;
      }
    }
    taken_.emplace_back(key.path, path);
    read_value(key, value, where, job_, diagnostics_);
  }

  [[nodiscard]] bool is_prefix(std::string const& path) const {
    return std::any_of(paths_.begin(), paths_.end(),
                       [&](std::string const& known) { return known.starts_with(path + '.'); });
  }

  [[nodiscard]] std::vector<std::string> siblings(std::string const& prefix) const {
    std::vector<std::string> found;
    auto const start = prefix.empty() ? std::string{} : prefix + '.';
    for (auto const& known : paths_) {
      if (!known.starts_with(start)) continue;
      auto const word = known.substr(start.size(), known.find('.', start.size()) - start.size());
      if (std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
    }
    return found;
  }

  /// The first of what may stand below `path`: enough to recognise the level, short enough to read.
  [[nodiscard]] std::string children(std::string const& path) const {
    constexpr std::size_t shown = 12;
    std::string list;
    auto const all = siblings(path);
    for (std::size_t i = 0; i < all.size() && i < shown; ++i) list += concat(i == 0 ? "" : ", ", all[i]);
    return all.size() > shown ? concat(list, " and more: prgen init lists them") : list;
  }

  void unknown(std::string const& prefix, std::string const& path, Node const& key) {
    auto const where = at(key.where, path);
    auto const known = siblings(prefix);
    std::string help;
    if (auto const meant = did_you_mean(key.text, known); !meant.empty()) {
      help = concat("did you mean '", meant, "'?");
    }
    for (auto const& other : paths_) {
      // The right word at the wrong level is the commonest slip of indentation.
      auto const dot = other.rfind('.');
      auto const leaf = other.substr(dot == std::string::npos ? 0 : dot + 1);
      if (leaf != key.text) continue;
      help = dot == std::string::npos ? concat("'", leaf, "' stands one level above: indent it less")
                                      : concat("'", leaf, "' belongs below '", other.substr(0, dot), "'");
      break;
    }
    if (help.empty()) help = concat("known here: ", children(prefix));
    diagnostics_.error("PR006", where, "unknown key", help);
  }

  std::span<Alias const> aliases_;
  JobSpec& job_;
  Diagnostics& diagnostics_;
  std::vector<std::string> paths_;
  std::vector<std::pair<std::string_view, std::string>> taken_;  // key and the spelling that gave it
};

/// Puts path=value over the tree; the place of the value is the command line's own text.
void put(Node& map, std::string_view path, Node const& value) {
  auto const dot = path.find('.');
  auto const word = path.substr(0, dot);
  auto* entry = [&]() -> Entry* {
    for (auto& candidate : map.entries) {
      if (candidate.key.text == word) return &candidate;
    }
    Node key;
    key.kind = Node::Kind::scalar;
    key.text = word;
    key.where = value.where;
    map.entries.push_back({key, {}});
    return &map.entries.back();
  }();
  if (dot == std::string_view::npos) {
    entry->key.where = value.where;
    entry->value = value;
    return;
  }
  if (entry->value.kind != Node::Kind::map) {
    entry->value = Node{};
    entry->value.kind = Node::Kind::map;
    entry->value.where = value.where;
  }
  put(entry->value, path.substr(dot + 1), value);
}

/// A plain word is taken as it stands, with what would be a comment in a file; lists, maps and quotes are YAML.
std::optional<Node> flag_value(SourcePtr const& source, Diagnostics& diagnostics) {
  auto const begin = source->text.find_first_not_of(" \t\r\n");
  auto const end = source->text.find_last_not_of(" \t\r\n");
  auto const word = source->text.substr(begin, end - begin + 1);
  Node plain;
  plain.kind = Node::Kind::scalar;
  plain.text = word;
  plain.where = {source, 1, begin + 1, word.size(), {}};
  if (word.front() == '#') return plain;
  auto value = read_yaml(source, {}, diagnostics);
  bool const comment =
      value && value->kind == Node::Kind::scalar && !value->quoted && word.find(" #") != std::string::npos;
  return comment ? plain : value;
}

void apply(Node& root, std::vector<Override> const& overrides, std::span<Alias const> aliases,
           Diagnostics& diagnostics) {
  for (auto const& [path, text] : overrides) {
    auto const source = std::make_shared<Source const>(Source{concat("--set ", path), text});
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      diagnostics.error("PR008", at({}, concat("--set ", path)), "nothing stands behind '='",
                        "write a value; '\"\"' is an empty text");
      continue;
    }
    auto value = flag_value(source, diagnostics);
    if (!value) continue;
    std::string_view wanted = path;
    if (wanted.starts_with("engine.")) wanted.remove_prefix(7);
    for (auto const& alias : aliases) {
      if (alias.from == wanted) {
        wanted = alias.to;
        break;
      }
    }
    // The flag and the file may spell one key differently; the flag replaces what the file says.
    for (auto const& alias : aliases) {
      Node* map = &root;
      if (alias.to != wanted) continue;
      std::string_view rest = alias.from;
      for (auto dot = rest.find('.'); map != nullptr && dot != std::string_view::npos; dot = rest.find('.')) {
        auto const found = std::find_if(map->entries.begin(), map->entries.end(),
                                        [&](Entry const& e) { return e.key.text == rest.substr(0, dot); });
        map = found == map->entries.end() ? nullptr : &found->value;
        rest.remove_prefix(dot + 1);
      }
      if (map != nullptr) std::erase_if(map->entries, [&](Entry const& e) { return e.key.text == rest; });
    }
    put(root, wanted, *value);
  }
}

std::vector<std::string> top_words() {
  return {"engine", "backend"};
}

/// A key that is one of the two words that a file begins with, misspelt.
Node const* meant_for_top(Node const& document) {
  for (auto const& [key, value] : document.entries) {
    if (!did_you_mean(key.text, top_words()).empty()) return &key;
  }
  return nullptr;
}

void not_a_backend(Node const& document, Diagnostics& diagnostics) {
  auto const where = Where{document.where.source, document.where.line, document.where.column, 1, {}};
  if (document.find("apiVersion") != nullptr && document.find("kind") != nullptr) {
    diagnostics.error("PR025", where, "this is a Kubernetes manifest already",
                      "give it to kubectl; prgen reads backend.yaml");
  } else if (document.find("train") != nullptr || document.find("runner") != nullptr ||
             document.find("hyper_parameters") != nullptr) {
    diagnostics.error("PR025", where, "this looks like a model's config.yaml",
                      "give it behind -m, and a backend.yaml as the file");
  } else if (auto const* const close = meant_for_top(document); close != nullptr) {
    diagnostics.error("PR025", at(close->where, close->text),
                      "there is neither 'engine:' nor 'backend:' at the top of the file",
                      concat("did you mean '", did_you_mean(close->text, top_words()), "'?"));
  } else {
    diagnostics.error("PR025", where, "there is neither 'engine:' nor 'backend:' at the top of the file",
                      "prgen init --backend k8s writes a file to begin with");
  }
}

void replace_workspace(Text& text, std::string const& workspace) {
  constexpr std::string_view mark = "{workspace}";
  for (std::size_t i = 0; (i = text.value.find(mark, i)) != std::string::npos; i += workspace.size()) {
    text.value.replace(i, mark.size(), workspace);
  }
}

void replace_workspace(JobSpec& job) {
  if (!job.workspace.given) return;
  for (auto const& key : keys()) {
    if (auto const* const member = std::get_if<Text JobSpec::*>(&key.member)) {
      if (key.path != "workspace") replace_workspace(job.**member, job.workspace.value);
    } else if (auto const* const list = std::get_if<TextList JobSpec::*>(&key.member)) {
      for (auto& item : (job.**list).items) replace_workspace(item, job.workspace.value);
    } else if (auto const* const map = std::get_if<TextMap JobSpec::*>(&key.member)) {
      for (auto& item : (job.**map).items) replace_workspace(item.second, job.workspace.value);
    }
  }
}

}  // namespace

std::optional<JobSpec> read_job(Node document, std::vector<Override> const& overrides, Diagnostics& diagnostics) {
  auto const& source = document.where.source;
  if (document.kind != Node::Kind::map) {
    diagnostics.error("PR007", document.where,
                      concat("a map is expected at the top of the file, not ", kind_name(document)),
                      "the first line of a backend.yaml is 'engine:'");
    return std::nullopt;
  }
  JobSpec job;
  job.source = source;
  Node* root = &document;
  std::span<Alias const> aliases = flat_aliases();
  job.dialect = "flat";
  if (document.find("engine") != nullptr) {
    job.dialect = "engine";
    aliases = engine_aliases();
    for (auto& [key, value] : document.entries) {
      if (key.text == "engine") {
        root = &value;
      } else {
        diagnostics.error("PR006", at(key.where, key.text), "unknown key beside 'engine'", "indent it below 'engine:'");
      }
    }
    if (root->kind != Node::Kind::map) {
      diagnostics.error("PR007", at(root->kind == Node::Kind::null ? document.where : root->where, "engine"),
                        concat("a map is expected here, not ", kind_name(*root)), "indent the keys below it");
      return std::nullopt;
    }
    if (root->find("hdfs") != nullptr || root->find("package") != nullptr) job.dialect = "mpi2020";
  } else if (document.find("backend") == nullptr) {
    not_a_backend(document, diagnostics);
    return std::nullopt;
  }
  job.root = root->where;
  job.root.line = job.root.line == 0 ? 1 : job.root.line;
  if (auto const* const submit = root->find("submit"); submit != nullptr && submit->kind == Node::Kind::map) {
    job.submit = submit->where;
  }
  apply(*root, overrides, aliases, diagnostics);
  Walker(aliases, job, diagnostics).walk(*root, {});
  replace_workspace(job);
  return job;
}

}  // namespace prdist::gen
