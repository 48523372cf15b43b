// SPDX-License-Identifier: Apache-2.0
#include "yaml_reader.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <prdist/core/text.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "secrecy.hpp"
#include "yaml_syntax.hpp"

namespace prdist::gen {

namespace {

/// Thrown to leave yaml-cpp's parser when going on is useless; the diagnostic is there already.
struct Stop {};

class Builder : public YAML::EventHandler {
 public:
  Builder(SourcePtr source, ReadOptions const& options, Diagnostics& diagnostics)
      : source_(std::move(source)), options_(options), diagnostics_(diagnostics) {}

  [[nodiscard]] std::vector<Node> take() { return std::move(documents_); }

  /// Where the innermost list or map that has not ended begins; no line when there is none.
  [[nodiscard]] Where innermost() const { return open_.empty() ? Where{} : open_.back().node.where; }

  void OnDocumentStart(YAML::Mark const&) override {
    anchors_.clear();
    open_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    Node node;
    node.where = where(mark, 1);
    finish(std::move(node), anchor);
  }

  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                std::string const& value) override {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = value;
    node.where = where(mark, 1);
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    node.where.length = value.size() + (tag == "!" ? 2 : 0);
    check_tag(tag, node.where);
    if (tag == "!") check_closed(static_cast<std::size_t>(mark.pos < 0 ? 0 : mark.pos), node.where);
    if (!node.quoted && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL")) {
      node.kind = Node::Kind::null;
    }
    finish(std::move(node), anchor);
  }

  void OnAlias(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    auto const found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      diagnostics_.error("PR003", where(mark, 1), "this alias stands inside the value that it names",
                         "write the value out");
      throw Stop{};
    }
    auto copy = found->second.node;
    count(found->second.size, copy.where);
    copy.where = where(mark, 1);
    place(std::move(copy), found->second.size);
  }

  void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// What a value costs, with everything below it.
  struct Size {
    std::size_t nodes = 1;
    std::size_t bytes = 0;
  };
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    Size size{};
    bool has_key = false;
    Node key{};
    std::map<std::string, std::size_t> seen{};  // key to its place among the entries
  };
  struct Anchored {
    Node node;
    Size size{};
  };

  [[nodiscard]] Where where(YAML::Mark const& mark, std::size_t length) const {
    auto const line = static_cast<std::size_t>(mark.line < 0 ? 0 : mark.line);
    auto const column = static_cast<std::size_t>(mark.column < 0 ? 0 : mark.column);
    return {source_, line + 1, column + 1, length, {}};
  }

  void check_tag(std::string const& tag, Where const& at) {
    if (options_.foreign) return;
    if (tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str" || tag == "tag:yaml.org,2002:int" ||
        tag == "tag:yaml.org,2002:map" || tag == "tag:yaml.org,2002:seq") {
      return;
    }
    // The tag is not repeated: a password may begin with '!'.
    diagnostics_.error("PR005", at, "tags are not read here", "take the tag away; quote a value that begins with '!'");
  }

  /// yaml-cpp takes the end of the file for the end of a quote.
  void check_closed(std::size_t begin, Where const& at) {
    auto const& text = source_->text;
    // An anchor or a tag stands in front of the quote, and the place is theirs.
    while (begin < text.size() && (text[begin] == '&' || text[begin] == '!')) {
      begin = text.find_first_not_of(" \t\r\n", text.find_first_of(" \t\r\n", begin));
    }
    if (begin >= text.size() || (text[begin] != '"' && text[begin] != '\'')) return;
    auto const quote = text[begin];
    for (auto i = begin + 1; i < text.size(); ++i) {
      if (text[i] == '\\' && quote == '"') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return;
        ++i;
      }
    }
    diagnostics_.error("PR001", at, "this is not YAML: the quote is never closed", "close it at the end of the value");
    throw Stop{};
  }

  void count(Size const& more, Where const& at) {
    nodes_ += more.nodes;
    bytes_ += more.bytes;
    // An escape can stand for one byte more than it has, hence twice.
    if (bytes_ > 2 * options_.max_bytes) {
      diagnostics_.error("PR003", at,
                         concat("the file holds more than ", 2 * options_.max_bytes, " bytes, aliases written out"),
                         "a job description has some kilobytes: write the values out that are needed");
      throw Stop{};
    }
    if (nodes_ > options_.max_nodes) {
      diagnostics_.error("PR003", at,
                         concat("the file holds more than ", options_.max_nodes, " values, aliases written out"),
                         "a job description has some dozens: is this the right file?");
      throw Stop{};
    }
  }

  void open(Node::Kind kind, YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor) {
    Open fresh;
    fresh.node.kind = kind;
    fresh.node.where = where(mark, 1);
    fresh.anchor = anchor;
    check_tag(tag, fresh.node.where);
    count({}, fresh.node.where);
    if (open_.size() >= options_.max_depth) {
      diagnostics_.error("PR003", fresh.node.where, concat("values are nested more than ", options_.max_depth, " deep"),
                         "a job description needs five levels: look for a bracket that is not closed");
      throw Stop{};
    }
    open_.push_back(std::move(fresh));
  }

  void close() {
    auto done = std::move(open_.back());
    open_.pop_back();
    if (options_.foreign) merge(done.node);
    if (done.anchor != 0) {
      share(done.node);
      anchors_[done.anchor] = {done.node, done.size};
    }
    place(std::move(done.node), done.size);
  }

  static void share(Node& node) {
    node.shared = true;
    for (auto& item : node.items) share(item);
    for (auto& entry : node.entries) share(entry.key), share(entry.value);
  }

  /// Moves what stands below '<<' up, where the map has no such key of its own.
  static void merge(Node& map) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      if (map.entries[i].key.quoted || map.entries[i].key.text != "<<") continue;
      auto below = std::move(map.entries[i].value);
      map.entries.erase(map.entries.begin() + static_cast<std::ptrdiff_t>(i));
      if (below.kind == Node::Kind::map) {
        auto whole = std::move(below);
        below = {};
        below.items.push_back(std::move(whole));
      }
      std::set<std::string> own;
      for (auto const& entry : map.entries) own.insert(entry.key.text);
      for (auto& item : below.items) {
        for (auto& entry : item.entries) {
          if (own.insert(entry.key.text).second) map.entries.push_back(std::move(entry));
        }
      }
      return;
    }
  }

  void finish(Node node, YAML::anchor_t anchor) {
    Size const size{1, node.text.size()};
    count(size, node.where);
    if (anchor != 0) {
      share(node);
      anchors_[anchor] = {node, size};
    }
    place(std::move(node), size);
  }

  void place(Node node, Size const& size) {
    if (open_.empty()) {
      documents_.push_back(std::move(node));
      return;
    }
    auto& parent = open_.back();
    parent.size.nodes += size.nodes;
    parent.size.bytes += size.bytes;
    if (parent.node.kind == Node::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, std::move(node));
    } else {
      parent.has_key = false;
      auto const [at, fresh] = parent.seen.emplace(parent.key.text, parent.node.entries.size());
      if (fresh) {
        parent.node.entries.push_back({std::move(parent.key), std::move(node)});
      } else {
        duplicate(parent, at->second, std::move(node));
      }
    }
  }

  void take_key(Open& parent, Node node) {
    if (node.kind == Node::Kind::sequence || node.kind == Node::Kind::map) {
      diagnostics_.error("PR005", node.where, concat(kind_name(node), " cannot be a key"),
                         "write a word before the colon");
      node.kind = Node::Kind::scalar;
    }
    if (!node.quoted && node.text == "<<" && !options_.foreign) {
      diagnostics_.error("PR005", node.where, "merge keys ('<<') are not read here", "write the keys out");
    }
    parent.key = std::move(node);
    parent.has_key = true;
  }

  void duplicate(Open& parent, std::size_t index, Node node) {
    auto& old = parent.node.entries[index];
    // An alias may bring a secret.
    auto const message = concat("the key ", parent.key.shared ? "of this alias" : concat("'", parent.key.text, "'"),
                                " stands here a second time; the first is in line ", old.key.where.line);
    if (options_.last_duplicate_wins) {
      diagnostics_.warning("PR004", parent.key.where, concat(message, "; the last one counts"),
                           "take one of them away");
    } else {
      diagnostics_.error("PR004", parent.key.where, message,
                         "take one of them away, or let the last one count with --duplicate-keys=last");
    }
    old = {std::move(parent.key), std::move(node)};
  }

  SourcePtr source_;
  ReadOptions const& options_;
  Diagnostics& diagnostics_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::vector<Node> documents_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

/// Line and column of byte `offset`.
Where place_of(SourcePtr const& source, std::size_t offset) {
  Where where{source, 1, 1, 1, {}};
  for (std::size_t i = 0; i < offset; ++i) {
    if (source->text[i] == '\n') {
      ++where.line;
      where.column = 1;
    } else {
      ++where.column;
    }
  }
  return where;
}

bool readable(SourcePtr const& source, ReadOptions const& options, Diagnostics& diagnostics) {
  Where const whole{source, 0, 0, 1, {}};
  if (source->text.size() > options.max_bytes) {
    diagnostics.error("PR003", whole, concat("the file has more than ", options.max_bytes, " bytes"),
                      "a job description has some kilobytes: is this the right file?");
    return false;
  }
  if (auto const bad = first_bad_utf8(source->text); bad != std::string_view::npos) {
    auto const byte = static_cast<unsigned>(static_cast<unsigned char>(source->text[bad]));
    diagnostics.error("PR002", place_of(source, bad), concat("byte ", bad + 1, " (value ", byte, ") is not UTF-8 text"),
                      "save the file as UTF-8");
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Node>> read_yaml_documents(SourcePtr const& source, ReadOptions const& options,
                                                     Diagnostics& diagnostics) {
  if (!readable(source, options, diagnostics)) return std::nullopt;
  Builder builder(source, options, diagnostics);
  try {
    std::istringstream stream(source->text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (Stop const&) {
    return std::nullopt;
  } catch (YAML::Exception const& error) {
    auto const line = static_cast<std::size_t>(error.mark.line < 0 ? 0 : error.mark.line) + 1;
    auto const column = static_cast<std::size_t>(error.mark.column < 0 ? 0 : error.mark.column) + 1;
    report_syntax(source, line, column, error.msg, builder.innermost(), diagnostics);
    return std::nullopt;
  }
  return builder.take();
}

std::optional<Node> read_yaml(SourcePtr const& source, ReadOptions const& options, Diagnostics& diagnostics) {
  auto documents = read_yaml_documents(source, options, diagnostics);
  if (!documents) return std::nullopt;
  if (documents->empty() || (documents->size() == 1 && documents->front().kind == Node::Kind::null)) {
    diagnostics.error("PR001", {source, 0, 0, 1, {}}, "the file is empty",
                      options.foreign ? "is this the model's config.yaml? leave -m out when the image has one"
                                      : "prgen init --backend k8s writes one to begin with");
    return std::nullopt;
  }
  if (documents->size() > 1 && source->text.find("---") == std::string::npos) {
    // yaml-cpp begins anew behind a value that is closed already.
    diagnostics.error("PR001", (*documents)[1].where,
                      "this is not YAML: something stands behind a value that has ended",
                      "put the whole value into quotes, and double those inside it");
    return std::nullopt;
  }
  if (documents->size() > 1) {
    diagnostics.error("PR005", (*documents)[1].where, "a second document begins in this file ('---')",
                      "give each job a file of its own; prgen reads several files");
    return std::nullopt;
  }
  hide_shared_secrets(documents->front(), diagnostics);
  return std::move(documents->front());
}

}  // namespace prdist::gen
