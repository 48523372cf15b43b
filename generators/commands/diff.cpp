// SPDX-License-Identifier: Apache-2.0
// diff: what would change, object by object and field by field, against another backend.yaml; or against the cluster,
// which kubectl is asked for. Exit code 0 means the same, 1 a difference, more an error.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <prdist/core/text.hpp>

#include "commands.hpp"

namespace prdist::gen {

namespace {

using Objects = std::map<std::string, Json>;

Objects objects_of(std::vector<File> const& files) {
  Objects out;
  for (auto const& file : files) {
    if (!file.yaml) {
      // Line by line, so that a difference names its line.
      auto lines = Json::array();
      std::string_view rest = file.text;
      while (!rest.empty()) {
        auto const end = std::min(rest.find('\n'), rest.size());
        lines.push_back(std::string(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      out.emplace(file.name, Json{{"line", std::move(lines)}});
      continue;
    }
    for (auto& document : documents_of(file.text)) {
      auto const name = concat(document.value("kind", ""), '/', document["metadata"].value("name", ""));
      out.emplace(name, std::move(document));
    }
  }
  return out;
}

/// Lists of things with names are compared by name, others by place.
Json keyed(Json const& list) {
  Json out = Json::object();
  for (std::size_t i = 0; i < list.size(); ++i) {
    bool const named = list[i].is_object() && list[i].contains("name") && list[i]["name"].is_string();
    // People count from one.
    out[named ? list[i]["name"].get<std::string>() : concat(i + (list[i].is_string() ? 1 : 0))] = list[i];
  }
  return out;
}

std::string shown(Json const& value) {
  auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 100) text = text.substr(0, 97) + "...";
  return text;
}

void compare(std::string const& object, std::string const& path, Json const& before, Json const& after,
             std::string& out) {
  if (before == after) return;
  // A Job's pods cannot be changed: the apiserver refuses it, so it is said here.
  auto const fixed = [&](std::string const& place) {
    bool const pods =
        object.starts_with("Job/") &&
        (place.starts_with("spec.template") || place == "spec.completionMode" || place == "spec.completions" ||
         place.starts_with("spec.successPolicy") || place.starts_with("spec.podFailurePolicy"));
    return pods ? "  (cannot be changed in place: delete the Job and create it again)" : "";
  };
  bool const maps = before.is_object() && after.is_object();
  if (maps || (before.is_array() && after.is_array())) {
    auto const a = maps ? before : keyed(before);
    auto const b = maps ? after : keyed(after);
    auto const below = [&](std::string const& key) {
      return maps ? (path.empty() ? key : concat(path, '.', key)) : concat(path, '[', key, ']');
    };
    for (auto const& [key, value] : a.items()) {
      if (b.contains(key)) {
        compare(object, below(key), value, b[key], out);
      } else {
        out += concat("- ", object, ' ', below(key), ": ", shown(value), fixed(below(key)), '\n');
      }
    }
    for (auto const& [key, value] : b.items()) {
      if (!a.contains(key)) out += concat("+ ", object, ' ', below(key), ": ", shown(value), fixed(below(key)), '\n');
    }
    return;
  }
  out += concat("~ ", object, ' ', path, ": ", shown(before), " -> ", shown(after), fixed(path), '\n');
}

int live(Context& context, std::string const& text) {
  auto* const pipe = ::popen("kubectl diff -f -", "w");
  if (pipe == nullptr) throw IoError("kubectl cannot be started");
  std::fwrite(text.data(), 1, text.size(), pipe);
  auto const status = ::pclose(pipe);
  auto const code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  if (code > 1) {
    context.diagnostics.error({}, {}, concat("kubectl diff ended with ", code),
                              "is there a cluster? kubectl version asks it");
    return exit_usage;
  }
  return code;
}

}  // namespace

int diff_command(Context& context) {
  auto const& invocation = context.invocation;
  // Two versions of one job have one name, which load_all would refuse in one run.
  std::vector<std::vector<File>> rendered;
  Renderer renderer(template_folder(invocation.options.template_dir));
  for (auto const& word : invocation.words) {
    SourcePtr const config = invocation.config.empty() ? nullptr : read_source(invocation.config, context.in);
    auto const job = load(read_source(word, context.in), config, invocation.options, context.diagnostics);
    if (!job || context.diagnostics.failed()) return exit_usage;
    rendered.push_back(render(*job, invocation.options, renderer, context.diagnostics));
    if (context.diagnostics.failed()) return exit_usage;
  }
  if (invocation.live) return live(context, manifest(rendered.front()));
  auto const before = objects_of(rendered[0]);
  auto const after = objects_of(rendered[1]);
  for (auto const& [name, object] : before) {
    if (!after.contains(name)) context.out += concat("- ", name, '\n');
  }
  for (auto const& [name, object] : after) {
    if (!before.contains(name)) {
      context.out += concat("+ ", name, '\n');
    } else {
      compare(name, {}, before.at(name), object, context.out);
    }
  }
  return context.out.empty() ? 0 : 1;
}

}  // namespace prdist::gen
