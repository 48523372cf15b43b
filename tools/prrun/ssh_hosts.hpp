// SPDX-License-Identifier: Apache-2.0
// What is done on all hosts of a job at once before and after it runs: a look at them, the copying of the workspace and
// the gathering of the logs.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/ssh/command.hpp>
#include <prdist/launch/ssh/hosts.hpp>

#include "ssh_channel.hpp"

namespace prrun {

struct SshNode {
  std::size_t index = 0;
  prdist::SshHost host;
  std::vector<prdist::JobMember> members;  ///< servers first
  std::string workspace;                   ///< on the host, from the home folder when not absolute
  std::string prrun;                       ///< from the workspace, or a name in PATH; empty when it has to be copied
  std::unique_ptr<SshChannel> channel;
};

/// An ending signal came before the job ran.
struct Interrupted {
  int signal = 0;
};

/// What all of it needs.
struct SshContext {
  prdist::SshSettings settings;
  SshChannels channels;
  prdist::Console& console;
  bool quiet = false;
  bool infos = true;  ///< LAUNCH INFO lines

  void info(std::string_view text) const;
};

/// The channels of the nodes, null where there is none.
[[nodiscard]] std::vector<SshChannel*> channels_of(std::vector<SshNode> const& nodes);

/// What a phase does with one node at each turn: true when the node is done. An Error it throws is that node's.
using NodeStep = std::function<bool(SshNode&)>;

struct Phase {
  std::string doing;                     ///< "Looking at hosts", for the line that says who is waited for
  std::string failed;                    ///< "cannot be reached"
  std::chrono::seconds patience;         ///< without a byte from a host
  NodeStep step;                         ///< called with a channel that is open, or has just closed
  std::function<std::string()> state{};  ///< how far it is, instead of who is missing
  std::function<void()> tick{};          ///< every second
  bool sending = false;                  ///< a byte to a host counts as well
};

/// Takes every node through a phase, all at once. The channels of those that fail are closed; their troubles are told
/// together. @throws prdist::Error, Interrupted
void settle(SshContext& context, std::vector<SshNode>& nodes, Phase const& phase);

/// Looks whether every host is reached and has what it takes, and fills in `prrun` where the right one is there.
/// `remote_prrun` may be empty; a workspace must exist unless it is `fresh`. @throws prdist::Error, Interrupted
void probe_hosts(SshContext& context, std::vector<SshNode>& nodes, std::string const& remote_prrun, bool fresh);

struct CopyJob {
  std::filesystem::path package;  ///< empty when the workspaces are there already
  std::string root;               ///< that fresh workspaces are made in, as given
  bool whole = false;             ///< all data to all nodes
};

/// Copies the package, and this prrun to where none was found, which is then tried out.
/// @throws prdist::Error, Interrupted
void copy_workspaces(SshContext& context, std::vector<SshNode>& nodes, CopyJob const& job);

/// The files of node N below `log_dir`/node_N, as many as can be had. Returns a sentence for each host that gave none.
[[nodiscard]] std::vector<std::string> gather_logs(SshContext& context, std::vector<SshNode>& nodes,
                                                   std::filesystem::path const& log_dir);

}  // namespace prrun
