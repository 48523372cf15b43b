// SPDX-License-Identifier: Apache-2.0
// The only unit that includes inja: it takes seven seconds to compile.
#include "render.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <inja/inja.hpp>
#include <iterator>
#include <map>
#include <optional>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "proof.hpp"
#include "quoting.hpp"

namespace prdist::gen {

namespace {

constexpr std::string_view writers[] = {"q", "block", "num", "tree", "part", "sh", "args", "ini", "word"};

/// Refuses every {{ }} that is not a call of one of the writers: inja writes bare strings raw.
void lint(std::string const& name, std::string_view text) {
  auto const line_of = [&](std::size_t i) {
    return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
  };
  if (auto const i = Marks::first_in(text); i != std::string_view::npos) {
    throw TemplateError(concat(name, ".inja:", line_of(i), ": a control character stands here: take it away"));
  }
  for (std::size_t i = 0; (i = text.find("##", i)) != std::string_view::npos; i += 2) {
    auto const begin = text.rfind('\n', i) + 1;  // npos + 1 is the beginning
    if (text.find_first_not_of(" \t", begin) != i) continue;
    throw TemplateError(
        concat(name, ".inja:", line_of(i),
               ": inja takes a line that begins with ## for a statement; write {% %}, or # for a comment"));
  }
  for (std::size_t i = 0; (i = text.find("{{", i)) != std::string_view::npos; i += 2) {
    auto rest = text.substr(i + 2);
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '-')) rest.remove_prefix(1);
    auto const open = rest.find('(');
    auto const word = rest.substr(0, open);
    bool known = false;
    for (auto const writer : writers) known = known || word == writer;
    if (known && open != std::string_view::npos) continue;
    throw TemplateError(
        concat(name, ".inja:", line_of(i), ": a value is written raw: ", rest.substr(0, rest.find('}')),
               "; write it through q(), block(), num(), tree(), part(), sh(), args(), ini() or word()"));
  }
}

std::string const& string_of(Json const& value, std::string_view writer) {
  if (!value.is_string()) {
    throw TemplateError(concat(writer, "() takes a string, not ", value.type_name(), ": ", value.dump().substr(0, 80)));
  }
  return value.get_ref<std::string const&>();
}

std::string indented(std::string const& text, std::size_t indent) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    auto const end = rest.find('\n');
    auto const line = rest.substr(0, end);
    if (!out.empty()) out += '\n';
    if (!line.empty()) out += std::string(indent, ' ');
    out += line;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return out;
}

std::string read_template(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw TemplateError(
        concat(path.native(), ": the template cannot be read; --template-dir names the folder of them"));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Keys that no reader takes for anything but a word go without quotes: manifests are read by people, too.
bool plain_key(std::string_view key) {
  if (key.size() < 3 || key.size() > 63) return false;  // y, n, on, no
  for (auto const c : key) {
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-' && c != '.' && c != '/') return false;
  }
  for (std::string_view const word : {"yes", "off", "true", "false", "null"}) {
    if (key.size() == word.size() &&
        std::equal(key.begin(), key.end(), word.begin(), [](char a, char b) { return (a | 0x20) == b; }))
      return false;
  }
  auto const letter = [](char c) { return c != '-' && c != '.' && c != '/'; };
  return letter(key.front()) && letter(key.back());
}

/// A tree as YAML lines, `indent` blanks in front of each, every string and key quoted by `quote`.
std::string yaml_lines(Json const& tree, std::size_t indent,
                       std::function<std::string(std::string const&)> const& quote) {
  std::string const blanks(indent, ' ');
  auto const scalar = [&](Json const& value) -> std::string {
    if (value.is_string()) return quote(value.get_ref<std::string const&>());
    if (value.is_object()) return "{}";  // only empty ones come here
    if (value.is_array()) return "[]";
    if (value.is_number_float()) throw TemplateError("tree() writes no fractions: give a string");
    return value.dump();
  };
  auto const leaf = [](Json const& value) { return !value.is_structured() || value.empty(); };
  if (leaf(tree)) return blanks + scalar(tree);
  std::string out;
  for (auto const& [key, value] : tree.items()) {
    if (!out.empty()) out += '\n';
    if (tree.is_array()) {
      if (leaf(value)) {
        out += concat(blanks, "- ", scalar(value));
      } else {
        // The first line of the item takes the place of two blanks of its own indentation.
        auto lines = yaml_lines(value, indent + 2, quote);
        lines.replace(indent, 2, "- ");
        out += lines;
      }
    } else if (leaf(value)) {
      out += concat(blanks, plain_key(key) ? key : quote(key), ": ", scalar(value));
    } else {
      out += concat(blanks, plain_key(key) ? key : quote(key), ":\n", yaml_lines(value, indent + 2, quote));
    }
  }
  return out;
}

}  // namespace

struct Renderer::Impl {
  explicit Impl(std::filesystem::path folder) : directory(std::move(folder)) {
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_search_included_templates_in_files(false);
    environment.set_throw_at_missing_includes(true);
    environment.add_callback("q", 1, [this](inja::Arguments& a) { return quote(string_of(*a[0], "q")); });
    environment.add_callback("block", 2, [this](inja::Arguments& a) {
      auto const& text = string_of(*a[0], "block");
      return marked(text, yaml_block(text, a[1]->get<std::size_t>()));
    });
    // inja holds an empty string to be true.
    environment.add_callback("has", 1, [](inja::Arguments& a) { return !string_of(*a[0], "has").empty(); });
    environment.add_callback("num", 1, [](inja::Arguments& a) {
      if (!a[0]->is_number_integer()) throw TemplateError(concat("num() takes a number, not ", a[0]->type_name()));
      return a[0]->dump();
    });
    environment.add_callback("tree", 2, [this](inja::Arguments& a) {
      return yaml_lines(*a[0], a[1]->get<std::size_t>(), [this](std::string const& text) { return quote(text); });
    });
    environment.add_callback("part", 3, [this](inja::Arguments& a) {
      return indented(render(string_of(*a[0], "part"), *a[1]), a[2]->get<std::size_t>());
    });
    add_script_writer("sh", [](Json const& value) { return shell_quoted(string_of(value, "sh")); });
    add_script_writer("args", [](Json const& value) {
      std::string line;
      for (auto const& word : value) line += concat(line.empty() ? "" : " ", shell_expanded(string_of(word, "args")));
      return line;
    });
    add_script_writer("ini", [](Json const& value) { return ini_value(string_of(value, "ini")); });
    add_script_writer("word", [](Json const& value) { return plain_word(string_of(value, "word")); });
  }

  /// A writer that quotes for something other than YAML, where its text could mean anything.
  void add_script_writer(std::string const& name, std::function<std::string(Json const&)> write) {
    environment.add_callback(name, 1, [this, name, write = std::move(write)](inja::Arguments& a) {
      if (marks) throw TemplateError(concat(name, "() does not write YAML; write the value through q()"));
      return write(*a[0]);
    });
  }

  std::string quote(std::string const& text) { return marked(text, yaml_quoted(text)); }

  std::string marked(std::string const& value, std::string written) {
    return marks ? marks->around(value, written) : written;
  }

  std::string render(std::string const& name, Json const& data) {
    if (name.find('/') != std::string::npos || name.find("..") != std::string::npos) {
      throw TemplateError(concat("'", name, "' is not the name of a template: they all stand in one folder"));
    }
    auto found = parsed.find(name);
    if (found == parsed.end()) {
      auto const text = read_template(directory / (name + ".inja"));
      lint(name, text);
      try {
        found = parsed.emplace(name, environment.parse(text)).first;
      } catch (inja::InjaError const& error) {
        throw TemplateError(concat(name, ".inja:", error.location.line, ": ", error.message));
      }
    }
    try {
      return environment.render(found->second, data);
    } catch (inja::InjaError const& error) {
      throw TemplateError(concat(name, ".inja:", error.location.line, ": ", error.message));
    } catch (nlohmann::json::exception const& error) {
      throw TemplateError(concat(name, ".inja: ", error.what()));
    } catch (Error const& error) {
      throw TemplateError(concat(name, ".inja: ", error.message()));
    }
  }

  std::filesystem::path directory;
  inja::Environment environment;
  std::map<std::string, inja::Template> parsed;
  std::optional<Marks> marks;  // while YAML is rendered
};

namespace {

Json value_of(Node const& node) {
  switch (node.kind) {
    case Node::Kind::null: return nullptr;
    case Node::Kind::sequence: {
      auto list = Json::array();
      for (auto const& item : node.items) list.push_back(value_of(item));
      return list;
    }
    case Node::Kind::map: {
      auto map = Json::object();
      for (auto const& [key, value] : node.entries) map[key.text] = value_of(value);
      return map;
    }
    case Node::Kind::scalar: break;
  }
  std::int64_t number = 0;
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  if (parse_number(node.text, number)) return number;
  return node.text;
}

}  // namespace

Renderer::Renderer(std::filesystem::path directory) : impl_(std::make_unique<Impl>(std::move(directory))) {}
Renderer::~Renderer() = default;

std::string Renderer::text(std::string const& name, Json const& data) {
  impl_->marks.reset();
  return impl_->render(name, data);
}

std::string Renderer::yaml(std::string const& name, Json const& data) {
  impl_->marks.emplace();
  return impl_->marks->proved(name, impl_->render(name, data));
}

std::vector<Json> documents_of(std::string const& text) {
  std::vector<Json> documents;
  for (auto const& node : parsed_back("manifest", text)) documents.push_back(value_of(node));
  return documents;
}

}  // namespace prdist::gen
