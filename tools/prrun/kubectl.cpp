// SPDX-License-Identifier: Apache-2.0
#include "kubectl.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>
#include <utility>

#include <prdist/launch/environment.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/termination_log.hpp>

namespace prrun {

using namespace prdist;

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The line that says why: kubectl repeats itself while it tries, and puts warnings in front.
std::string cause(CommandResult const& result) {
  std::string found;
  std::string_view rest = result.errors;
  while (!rest.empty()) {
    auto const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    bool const noise = line.empty() || line.starts_with("Warning:") || has(line, "memcache.go");
    if (!noise && (found.empty() || line.starts_with("error") || line.starts_with("Error"))) found = line;
  }
  if (found.empty()) found = result.errors.substr(0, result.errors.find('\n'));
  for (auto& c : found) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  if (found.size() > 500) found = found.substr(0, 500) + "...";
  return found.empty() ? concat("kubectl ended with ", to_string(result.ending)) : std::move(found);
}

}  // namespace

void declare(CLI::App& app, ClusterFlags& flags) {
  app.add_option("-n,--namespace", flags.name_space, "Kubernetes namespace; that of kubectl's context when not given")
      ->type_name("NAME");
  app.add_option("--context", flags.context, "context of kubectl's configuration")->type_name("NAME");
  app.add_option("--kubeconfig", flags.kubeconfig, "kubectl's configuration; or KUBECONFIG")->type_name("FILE");
  app.add_option(spelled("request_timeout"), flags.request_timeout, "seconds that the cluster has for an answer")
      ->check(within(1.0, 3600.0, "a number of seconds"))
      ->type_name("S")
      ->capture_default_str();
}

std::string typed(std::string_view program, Words const& words) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=@%+-";
  std::string line(program);
  for (auto const& word : words) {
    line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (char const c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string shown_flags(ClusterFlags const& flags) {
  Words words;
  if (!flags.name_space.empty()) words.insert(words.end(), {"-n", flags.name_space});
  if (!flags.context.empty()) words.insert(words.end(), {"--context", flags.context});
  if (!flags.kubeconfig.empty()) words.insert(words.end(), {"--kubeconfig", flags.kubeconfig});
  return typed("", words);
}

Kubectl::Kubectl(ClusterFlags flags, Environment const& environment) : flags_(std::move(flags)) {
  auto const found = find_program("kubectl", environment("PATH").value_or(""), "");
  if (!found) {
    throw Error(Errc::config_missing, "submit: there is no kubectl in PATH: install it (Debian: kubernetes-client), ",
                "or render by prgen and create the objects where it is");
  }
  path_ = *found;
}

Words Kubectl::call(Words const& words, double seconds) const {
  Words all{concat("--request-timeout=", seconds, 's')};
  if (!flags_.kubeconfig.empty()) all.push_back(concat("--kubeconfig=", flags_.kubeconfig));
  if (!flags_.context.empty()) all.push_back(concat("--context=", flags_.context));
  if (!flags_.name_space.empty()) all.push_back(concat("--namespace=", flags_.name_space));
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Result<CommandResult> Kubectl::run(Words const& words, std::string input, std::chrono::milliseconds wait) const {
  CommandRequest request;
  request.program = path_.string();
  // A watch is one request, too.
  request.arguments = call(words, flags_.request_timeout + std::chrono::duration<double>(wait).count());
  request.environment = current_environment();
  request.input = std::move(input);
  // One call is several requests: kubectl learns what the cluster serves before it asks.
  request.patience = millis(flags_.request_timeout) * 3 + std::chrono::seconds(5) + wait;
  auto result = run_command(request);
  if (!result && result.error().code() == Errc::job_deadline) {
    return Error(Errc::transport_no_answer, "submit: '", typed("kubectl", words), "' did not end within ",
                 std::chrono::duration<double>(request.patience).count(),
                 " s: see whether the cluster answers, or give it longer with --request_timeout");
  }
  return result;
}

std::string Kubectl::ask(Words const& words, std::string input) const {
  auto result = run(words, std::move(input)).value();
  if (!result.ending.ok()) throw refused(typed("kubectl", words), result);
  return std::move(result.out);
}

void Kubectl::become(Words const& words) const {
  auto all = call(words, 0);  // what is followed has no end
  all.insert(all.begin(), path_.string());
  auto const pointers = prdist::detail::pointers_to(all);
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::execv(path_.c_str(), pointers.data());
  throw Error(Errc::config_invalid, "submit: cannot run '", path_.string(),
              "': ", std::generic_category().message(errno), ". Check its permissions");
}

Refusal refusal_of(CommandResult const& result) {
  if (result.ending.ok()) return Refusal::none;
  std::string_view const text = result.errors;
  if (has(text, "(AlreadyExists)")) return Refusal::exists;
  if (has(text, "(Forbidden)")) return Refusal::forbidden;
  if (has(text, "(NotFound)")) return Refusal::not_found;
  if (has(text, "x509:") || has(text, "certificate")) return Refusal::other;  // it answers, and is not trusted
  for (auto const* const sign :
       {"Unable to connect to the server", "did you specify the right host or port", "connection refused",
        "i/o timeout", "no such host", "no route to host", "context deadline exceeded", "TLS handshake timeout",
        "unexpected EOF", "(ServiceUnavailable)", "(Timeout)", "(ServerTimeout)", "(TooManyRequests)",
        "(InternalError)", "currently unable to handle the request"}) {
    if (has(text, sign)) return Refusal::unreachable;
  }
  return Refusal::other;
}

Error refused(std::string_view what, CommandResult const& result) {
  auto const said = without_secrets(cause(result), current_environment());
  auto const error = [&](Errc code, std::string_view way_out) {
    return Error(code, "submit: ", what, ": ", said, ". ", way_out);
  };
  switch (refusal_of(result)) {
    case Refusal::unreachable:
      if (has(said, "localhost:8080"))
        return error(Errc::config_missing, "kubectl has no configuration: set KUBECONFIG, or give --kubeconfig");
      return error(Errc::transport_refused,
                   "The cluster does not answer: try again, or look at kubectl cluster-info and --context");
    case Refusal::forbidden:
      return error(Errc::config_invalid,
                   "Ask for that right (kubectl auth can-i --list shows yours), or use another "
                   "namespace with -n");
    case Refusal::not_found: return error(Errc::config_missing, "Check the name and the namespace (-n)");
    case Refusal::exists: return error(Errc::config_contradiction, "Take another name, or remove what is there");
    case Refusal::none:
    case Refusal::other: break;
  }
  if (has(said, "x509") || has(said, "certificate")) {
    return error(Errc::config_invalid,
                 "The cluster's certificate is not trusted: correct certificate-authority in kubectl's configuration");
  }
  if (has(said, "Unauthorized") || has(said, "logged in") || has(said, "credentials")) {
    return error(Errc::config_invalid, "Log in again: the credentials of kubectl's configuration are not taken");
  }
  if (has(said, "context") || has(said, "no configuration") || has(said, "config file") || has(said, "kubeconfig")) {
    return error(Errc::config_invalid, "kubectl config get-contexts lists what --context may name");
  }
  return error(Errc::config_invalid, "Call it by hand to see more");
}

void check_job_name(std::string_view name) {
  auto const plain = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-'; };
  if (name.empty() || name.size() > 63 || !std::ranges::all_of(name, plain) || name.front() == '-' ||
      name.back() == '-') {
    throw Error(Errc::config_invalid, "submit: '", name.substr(0, 80), "' is no name of a job: lower case letters, ",
                "digits and '-' are expected, as job_name of backend.yaml has it");
  }
}

std::string current_namespace(Kubectl const& kubectl) {
  if (!kubectl.flags().name_space.empty()) return kubectl.flags().name_space;
  auto const found = kubectl.ask({"config", "view", "--minify", "--output=jsonpath={..namespace}"});
  return found.empty() ? "default" : found;
}

}  // namespace prrun
