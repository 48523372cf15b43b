// SPDX-License-Identifier: Apache-2.0
// explain and completion.
#include <algorithm>
#include <iterator>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>

#include "../catalogue.hpp"
#include "../keys.hpp"
#include "commands.hpp"

namespace prdist::gen {

namespace {

std::string explained(CodeEntry const& entry) {
  std::string why;
  std::size_t column = 0;
  for (auto rest = entry.why; !rest.empty();) {
    auto const end = rest.find(' ');
    auto const word = rest.substr(0, end);
    if (column + word.size() + 1 > 100) {
      why += '\n';
      column = 0;
    }
    why += concat(column == 0 ? "" : " ", word);
    column += word.size() + 1;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  auto const flags = entry.flags.empty() ? std::string{} : concat(" (with ", entry.flags, ")");
  return concat(entry.code, ": ", entry.title, entry.error ? " (error)" : " (warning)", "\n\n", why,
                "\n\nThis gives it", flags, ":\n\n", entry.failing, "\nThis does not:\n\n", entry.corrected);
}

}  // namespace

int explain_command(Context& context) {
  if (context.invocation.words.empty()) {
    for (auto const& entry : catalogue()) context.out += concat(entry.code, "  ", entry.title, '\n');
    return exit_ok;
  }
  for (auto const& word : context.invocation.words) {
    std::string code;
    for (auto const c : word) code += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (int number = 0;
        code.starts_with("PR") && code.size() < 5 && parse_number(std::string_view(code).substr(2), number)) {
      code.insert(2, 5 - code.size(), '0');  // PR12
    }
    if (std::find(std::begin(retired_codes), std::end(retired_codes), code) != std::end(retired_codes)) {
      context.out += concat(context.out.empty() ? "" : "\n", code,
                            ": retired\n\nNo message carries this number, and none will.\n");
      continue;
    }
    auto const* const entry = find_code(code);
    if (entry == nullptr) {
      context.diagnostics.error({}, {}, concat("there is no code '", word, "'"), "prgen explain lists all");
      return exit_usage;
    }
    context.out += concat(context.out.empty() ? "" : "\n", explained(*entry));
  }
  return exit_ok;
}

namespace {

/// Flags that take one of some words, and the words.
std::vector<std::pair<std::string, std::string>> flag_words() {
  std::string names;
  for (auto const& target : targets()) names += concat(names.empty() ? "" : " ", target.name);
  return {{"backend", names},
          {"profile", "safe legacy"},
          {"output", "yaml json files"},
          {"diagnostics", "text json github sarif"},
          {"duplicate-keys", "error last"},
          {"color", "auto always never"}};
}

std::string bash_completion(std::string_view commands, std::string_view flags) {
  std::string cases;
  for (auto const& [flag, choices] : flag_words()) {
    cases += concat("    --", flag, ") mapfile -t COMPREPLY < <(compgen -W '", choices, "' -- \"$word\"); return ;;\n");
  }
  return concat("_prgen() {\n  local word=${COMP_WORDS[COMP_CWORD]}\n  case ${COMP_WORDS[COMP_CWORD - 1]} in\n", cases,
                "  esac\n  case $word in\n    -*) mapfile -t COMPREPLY < <(compgen -W '", flags,
                "' -- \"$word\") ;;\n    *) mapfile -t COMPREPLY < <(compgen -W '", commands,
                "' -- \"$word\"; compgen -f -- \"$word\") ;;\n  esac\n}\ncomplete -F _prgen prgen\n");
}

std::string zsh_completion(std::string_view commands, std::string_view flags) {
  std::string cases;
  for (auto const& [flag, choices] : flag_words()) {
    cases += concat("    --", flag, ") compadd -- ", choices, "; return ;;\n");
  }
  return concat("#compdef prgen\n_prgen() {\n  case ${words[CURRENT-1]} in\n", cases, "  esac\n  compadd -- ", commands,
                "\n  compadd -- ", flags, "\n  _files\n}\ncompdef _prgen prgen\n");
}

std::string fish_completion(std::string_view commands, std::string_view flags) {
  std::string out;
  for (auto const& command : words(commands)) {
    out += concat("complete -c prgen -n __fish_use_subcommand -a ", command, '\n');
  }
  auto const known = flag_words();
  for (auto const& flag : words(flags)) {
    auto const name = flag.substr(2);
    auto const found = std::find_if(known.begin(), known.end(), [&](auto const& entry) { return entry.first == name; });
    out +=
        concat("complete -c prgen -l ", name, found == known.end() ? "" : concat(" -xa '", found->second, "'"), '\n');
  }
  return out;
}

}  // namespace

int completion_command(Context& context) {
  constexpr std::string_view commands = "render check convert diff plan explain schema init completion";
  constexpr std::string_view flags =
      "--file --model --backend --profile --kube-version --namespace --set --output --output-dir --template-dir "
      "--diagnostics --duplicate-keys --color --force --error-on-warning --max-errors --quiet --live --help --version";
  auto const shell = context.invocation.words.empty() ? std::string{} : context.invocation.words.front();
  if (shell == "bash") {
    context.out = bash_completion(commands, flags);
  } else if (shell == "zsh") {
    context.out = zsh_completion(commands, flags);
  } else if (shell == "fish") {
    context.out = fish_completion(commands, flags);
  } else {
    context.diagnostics.error({}, {}, "which shell?", "prgen completion bash, zsh or fish");
    return exit_usage;
  }
  return exit_ok;
}

}  // namespace prdist::gen
