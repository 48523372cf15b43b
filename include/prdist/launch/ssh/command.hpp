// SPDX-License-Identifier: Apache-2.0
// How ssh is called and what the remote shell is told. The command line names the host and `exec /bin/sh -s` alone:
// everything else goes over standard input, so no path, variable or secret stands in a process list, and whatever the
// login shell is, it has nothing to quote.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/ssh/hosts.hpp>

namespace prdist {

struct SshSettings {
  std::string config;                ///< a file for ssh -F; empty for the user's own
  std::vector<std::string> options;  ///< more words for ssh
  bool accept_new = false;           ///< take the key of a host that was never seen
  int connect_timeout = 10;          ///< seconds
};

/// The words behind `ssh`. Of an option given twice ssh takes the first: what is a promise comes before `options`, what
/// is a default behind them.
[[nodiscard]] inline std::vector<std::string> ssh_arguments(SshSettings const& settings, SshHost const& host) {
  std::vector<std::string> words{"-T", "-x", "-a"};
  auto const option = [&](std::string_view text) {
    words.emplace_back("-o");
    words.emplace_back(text);
  };
  if (!settings.config.empty()) {
    words.emplace_back("-F");
    words.push_back(settings.config);
  }
  option("BatchMode=yes");  // a password is never asked for
  option(concat("StrictHostKeyChecking=", settings.accept_new ? "accept-new" : "yes"));
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  option(concat("ConnectTimeout=", settings.connect_timeout));
  option("ServerAliveInterval=15");
  option("ServerAliveCountMax=3");
  option("LogLevel=ERROR");
  // A shared connection would be another process's to end, and one that persists would outlive the job.
  option("ControlMaster=no");
  option("ControlPath=none");
  option("ClearAllForwardings=yes");
  option("PermitLocalCommand=no");
  if (!host.user.empty()) {
    words.emplace_back("-l");
    words.push_back(host.user);
  }
  if (host.port != 0) {
    words.emplace_back("-p");
    words.push_back(concat(host.port));
  }
  words.insert(words.end(), {"--", host.host, "exec /bin/sh -s"});
  return words;
}

/// One word for a POSIX shell, whatever it holds.
[[nodiscard]] inline std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char const c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The last thing ssh said, and what to do about it.
[[nodiscard]] inline std::string explain_ssh(SshHost const& host, std::string_view said) {
  while (said.ends_with('\n') || said.ends_with('\r')) said.remove_suffix(1);
  auto const line = said.substr(said.rfind('\n') + 1);  // npos + 1 is 0
  auto const says = [&](std::string_view text) { return said.find(text) != std::string_view::npos; };
  auto const name = concat(host.port == 0 ? std::string() : concat("-p ", host.port, ' '), host.user,
                           host.user.empty() ? "" : "@", host.host);
  std::string next = concat("try: ssh ", name);
  if (says("IDENTIFICATION HAS CHANGED")) {
    next =
        "the host has another key than the one you know: find out why, then take the old one away with ssh-keygen -R";
  } else if (says("Host key verification failed")) {
    next = concat("its key is not known here: check it once with ssh ", name, ", or give --accept_new");
  } else if (says("Permission denied")) {
    next = concat("no key of yours is accepted, and passwords are not used: ssh-copy-id ", name);
  } else if (says("Could not resolve hostname")) {
    next = "check the name in the hostfile";
  } else if (says("Connection refused")) {
    next = "is sshd running, on this port?";
  } else if (says("timed out") || says("No route to host") || says("unreachable")) {
    next = "is the host up, and does a firewall let you through?";
  }
  return concat(line.empty() ? "ssh said nothing" : line, "  -> ", next);
}

/// How a folder is named in a script: below the home folder unless absolute, with the node's number for {node}.
[[nodiscard]] inline std::string remote_folder(std::string folder, std::size_t node) {
  if (folder.starts_with("~/")) folder.erase(0, 2);
  for (std::size_t at = 0; (at = folder.find("{node}", at)) != std::string::npos;) folder.replace(at, 6, concat(node));
  if (folder.starts_with('-')) folder.insert(0, "./");
  return folder;
}

// Each script is one compound command: the shell has read it whole before it runs any of it, so what follows on
// standard input belongs to the programs it starts. Lines for us begin with "prdist ": login shells may be talkative.

/// Tells what is there: `prdist tar`, `prdist workspace` when that folder exists, and `prdist version ...` or
/// `prdist broken ...` for the launcher named `prrun`; ends with `prdist probed`.
[[nodiscard]] inline std::string probe_script(std::string_view prrun, std::string_view workspace) {
  auto const quoted = shell_quoted(prrun);
  return concat("{ command -v tar >/dev/null 2>&1 && echo 'prdist tar'\n", "[ -d ", shell_quoted(workspace),
                " ] && echo 'prdist workspace'\n", "if command -v ", quoted, " >/dev/null 2>&1; then\n", "if v=$(",
                quoted, " version 2>&1 </dev/null); then printf 'prdist version %s\\n' \"$v\" | head -n 1\n",
                "else printf 'prdist broken %s\\n' \"$v\" | head -n 1; fi; fi\n", "echo 'prdist probed'; exit 0; }\n");
}

/// Takes a tar stream from standard input into `workspace`. A `fresh` one must not exist yet, below a `root` that is
/// made, and is taken away again when the stream breaks off. Says `prdist send` when it listens and `prdist copied`.
[[nodiscard]] inline std::string copy_script(std::string_view root, std::string_view workspace, bool fresh) {
  auto const folder = shell_quoted(workspace);
  auto const make = fresh ? concat("mkdir -p ", shell_quoted(root), " || exit 3\nmkdir ", folder, " || exit 4\n") : "";
  return concat("{ ", make, "echo 'prdist send'\n", "if tar -xof - -C ", folder,
                "; then echo 'prdist copied'; exit 0\n", "else ", fresh ? concat("rm -rf ", folder, "; ") : "",
                "exit 5; fi; }\n");
}

/// Becomes the agent, in the workspace; `prrun` is a path from there or a name in PATH.
[[nodiscard]] inline std::string agent_script(std::string_view prrun, std::string_view workspace) {
  return concat("{ cd ", shell_quoted(workspace), " && exec ", shell_quoted(prrun), " agent; exit 1; }\n");
}

/// Sends the last `most` bytes of each file behind a line `prdist file NAME SIZE`; `prdist gathered` at the end.
[[nodiscard]] inline std::string gather_script(std::string_view folder, std::vector<std::string> const& names,
                                               std::size_t most) {
  auto script = concat("{ cd ", shell_quoted(folder), " || exit 1\n");
  for (auto const& name : names) {
    auto const file = shell_quoted(name);
    // The size is taken once and kept to: a log may grow while it is read.
    script += concat("if [ -f ", file, " ]; then n=$(wc -c <", file, "); s=0; [ \"$n\" -gt ", most, " ] && s=$((n-",
                     most, "))\n", "printf 'prdist file %s %s\\n' ", file, " $((n-s)); tail -c +$((s+1)) ", file,
                     " | head -c $((n-s)); fi\n");
  }
  return script + "printf '\\nprdist gathered\\n'; exit 0; }\n";
}

}  // namespace prdist
