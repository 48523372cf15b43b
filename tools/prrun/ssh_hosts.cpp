// SPDX-License-Identifier: Apache-2.0
#include "ssh_hosts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/ssh/package.hpp>
#include <prdist/launch/ssh/tar.hpp>
#include <prdist/launch/view.hpp>
#include <prdist/launch/workspace.hpp>
#include <prdist/version.hpp>

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_of_a_log = 64 << 20;
constexpr std::string_view copied_prrun = ".prdist/prrun";

/// A host that is down may come back; a key, a name or a permission does not mend itself.
Errc code_of(std::string_view said) {
  for (std::string_view const text : {"Host key verification failed", "IDENTIFICATION HAS CHANGED", "Permission denied",
                                      "Could not resolve hostname", "Bad configuration option", "command-line"}) {
    if (said.find(text) != std::string_view::npos) return Errc::config_invalid;
  }
  return Errc::transport_no_answer;
}

std::string megabytes(std::uint64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / 1e6);
  return text;
}

/// The rest of a line that the remote script wrote for us.
std::optional<std::string> told(std::string const& line, std::string_view what) {
  auto const begin = concat("prdist ", what);
  if (line == begin) return std::string();
  if (!line.starts_with(begin + ' ')) return std::nullopt;
  return line.substr(begin.size() + 1);
}

Error unreached(SshNode const& node) {
  auto const& said = node.channel->said();
  return {code_of(said), explain_ssh(node.host, said), ""};
}

std::string last_line(std::string_view said) {
  while (said.ends_with('\n') || said.ends_with('\r')) said.remove_suffix(1);
  return said.empty() ? "it said nothing" : std::string(said.substr(said.rfind('\n') + 1));
}

}  // namespace

void SshContext::info(std::string_view text) const {
  if (!quiet && infos) console.error(launch_line("INFO", text, std::chrono::system_clock::now()));
}

std::vector<SshChannel*> channels_of(std::vector<SshNode> const& nodes) {
  std::vector<SshChannel*> channels;
  for (auto const& node : nodes) channels.push_back(node.channel.get());
  return channels;
}

void settle(SshContext& context, std::vector<SshNode>& nodes, Phase const& phase) {
  std::vector<bool> done(nodes.size(), false);
  std::vector<std::pair<std::size_t, Error>> troubles;
  auto told = Clock::now();
  auto ticked = told;
  for (std::size_t left = nodes.size(); left != 0;) {
    if (auto const signals = context.channels.turn(channels_of(nodes), std::chrono::milliseconds(50));
        !signals.empty()) {
      throw Interrupted{signals.front()};
    }
    auto const now = Clock::now();
    for (auto& node : nodes) {
      if (done[node.index]) continue;
      try {
        done[node.index] = phase.step(node);
        if (!done[node.index] &&
            now - (phase.sending ? node.channel->moved() : node.channel->heard()) > phase.patience) {
          throw Error(Errc::transport_no_answer, "no answer for ", phase.patience.count(), " s");
        }
      } catch (Error const& error) {
        done[node.index] = true;
        node.channel.reset();
        troubles.emplace_back(node.index, error);
      }
      if (done[node.index]) --left;
    }
    if (phase.tick && now - ticked >= std::chrono::seconds(1)) {
      ticked = now;
      phase.tick();
    }
    if (now - told < std::chrono::seconds(5) || left == 0) continue;
    told = now;
    std::string missing;
    for (auto const& node : nodes) {
      if (!done[node.index]) missing += concat(missing.empty() ? "" : ", ", to_string(node.host));
    }
    context.info(concat(phase.doing, ": ", phase.state ? phase.state() : concat("waiting for ", missing)));
  }
  if (troubles.empty()) return;
  auto const lasting =
      std::ranges::find_if(troubles, [](auto const& each) { return exit_code(each.second.code()) != 75; });
  auto const code = (lasting == troubles.end() ? troubles.front() : *lasting).second.code();
  auto text = concat("ssh: ", troubles.size(), " of ", nodes.size(), " hosts ", phase.failed, ':');
  for (auto const& [index, error] : troubles) {
    text += concat("\n  ", to_string(nodes[index].host), ": ", error.message());
  }
  throw Error(code, text);
}

void probe_hosts(SshContext& context, std::vector<SshNode>& nodes, std::string const& remote_prrun, bool fresh) {
  struct Found {
    bool tar = false;
    bool workspace = false;
    std::string version;
    std::string broken;
  };
  std::vector<Found> found(nodes.size());
  auto const wanted = concat("prdist ", version);
  for (auto& node : nodes) {
    node.channel = std::make_unique<SshChannel>(context.settings, node.host);
    node.channel->put(probe_script(remote_prrun.empty() ? "prrun" : remote_prrun, node.workspace));
  }
  auto const judge = [&](SshNode& node) {
    auto const& seen = found[node.index];
    node.channel.reset();
    if (!fresh && !seen.workspace) {
      throw Error(Errc::config_missing, "there is no folder '", node.workspace,
                  "': give one that is there with --job_workspace, or copy one with --job_dispatch_package");
    }
    // The line goes on with what the program was built with.
    bool const right = seen.version.starts_with(wanted + ",") || seen.version == wanted;
    if (right) node.prrun = remote_prrun.empty() ? "prrun" : remote_prrun;
    if (right || (remote_prrun.empty() && seen.tar)) {
      if (fresh && !seen.tar) throw Error(Errc::config_missing, "there is no tar", ": install it");
      return true;
    }
    if (remote_prrun.empty()) {
      throw Error(Errc::config_missing, "there is neither prrun nor tar to bring it with",
                  ": install tar, or prrun and name it with --remote_prrun");
    }
    throw Error(Errc::config_missing, "'", remote_prrun, "' is no prrun of version ", version, " there (",
                !seen.version.empty()  ? seen.version
                : !seen.broken.empty() ? seen.broken
                                       : std::string("there is no such program"),
                "): correct --remote_prrun, or leave it out and it is copied");
  };
  settle(context, nodes,
         {"Looking at hosts", "cannot be used", std::chrono::seconds(context.settings.connect_timeout + 20),
          [&](SshNode& node) {
            auto& seen = found[node.index];
            while (auto const line = node.channel->received().next()) {
              if (told(*line, "tar")) seen.tar = true;
              if (told(*line, "workspace")) seen.workspace = true;
              if (auto const text = told(*line, "version")) seen.version = *text;
              if (auto const text = told(*line, "broken")) seen.broken = *text;
              if (told(*line, "probed")) return judge(node);
            }
            if (node.channel->closed()) throw unreached(node);
            return false;
          }});
  for (auto& node : nodes) {
    if (!node.prrun.empty()) continue;
    auto const& seen = found[node.index];
    context.info(concat("prrun is copied to ", to_string(node.host), ": ",
                        !seen.version.empty()  ? concat("the one there is ", seen.version)
                        : !seen.broken.empty() ? concat("the one there does not run, ", seen.broken)
                                               : std::string("there is none in PATH")));
  }
}

namespace {

/// Runs `prrun version` where it was copied to: what it says when it cannot run names what is missing.
void try_copied(SshContext& context, std::vector<SshNode>& nodes) {
  auto const is_ours = [](SshNode const& node) { return node.prrun == concat("./", copied_prrun); };
  std::map<std::size_t, std::string> answers;
  for (auto& node : nodes) {
    if (!is_ours(node)) continue;
    node.channel = std::make_unique<SshChannel>(context.settings, node.host);
    node.channel->put(probe_script(concat(node.workspace, '/', copied_prrun), node.workspace));
  }
  settle(context, nodes,
         {"Trying the copied prrun", "cannot run prrun", std::chrono::seconds(context.settings.connect_timeout + 20),
          [&](SshNode& node) {
            if (!is_ours(node)) return true;
            while (auto const line = node.channel->received().next()) {
              if (auto const text = told(*line, "broken")) answers[node.index] = *text;
              if (told(*line, "version")) answers[node.index].clear();
              if (!told(*line, "probed")) continue;
              node.channel.reset();
              auto const answer = answers.contains(node.index) ? answers[node.index] : "it is not executable there";
              if (answer.empty()) return true;
              throw Error(Errc::config_invalid, "the prrun that was copied does not run there, ", answer,
                          ": install what is missing, or a prrun of that system, and name it with --remote_prrun");
            }
            if (node.channel->closed()) throw unreached(node);
            return false;
          }});
}

}  // namespace

void copy_workspaces(SshContext& context, std::vector<SshNode>& nodes, CopyJob const& job) {
  bool const fresh = !job.package.empty();
  struct Stream {
    std::optional<TarStream> tar;
    std::uint64_t sent = 0;
    bool sending = false;
    bool complete = false;
  };
  std::vector<Stream> streams(nodes.size());
  std::vector<std::string> cut;
  for (auto& node : nodes) {
    Package package;
    if (fresh) package = package_for(job.package, node.index, nodes.size(), job.whole);
    if (node.prrun.empty()) {
      package.entries.push_back({own_folder(), ".prdist", true});
      package.entries.push_back({"/proc/self/exe", std::string(copied_prrun), true});
      node.prrun = concat("./", copied_prrun);
    }
    if (node.index == 0) cut = package.cut;
    if (fresh || !package.entries.empty()) streams[node.index].tar.emplace(std::move(package.entries));
  }
  for (auto const& name : cut) {
    context.info(concat("Each node gets its own part of ", name, " alone; --whole_package copies all of it"));
  }
  bool any = false;
  for (auto& node : nodes) {
    if (!streams[node.index].tar) continue;
    any = true;
    node.channel = std::make_unique<SshChannel>(context.settings, node.host);
    node.channel->put(copy_script(remote_folder(job.root, node.index), node.workspace, fresh));
  }
  if (!any) return;
  auto const share = [&](SshNode const& node) {
    auto const& stream = streams[node.index];
    auto const total = std::max<std::uint64_t>(1, stream.tar ? stream.tar->total() : 0);
    return concat(to_string(node.host), ' ', std::min<std::uint64_t>(100, 100 * stream.sent / total), '%');
  };
  settle(context, nodes,
         {"Copying",
          "did not get their files",
          std::chrono::seconds(60),
          [&](SshNode& node) {
            auto& stream = streams[node.index];
            if (!stream.tar) return true;
            while (auto const line = node.channel->received().next()) {
              if (told(*line, "send")) stream.sending = true;
              if (!told(*line, "copied")) continue;
              node.channel.reset();
              return true;
            }
            while (stream.sending && !stream.complete && node.channel->unsent() < (256 << 10)) {
              auto const piece = stream.tar->next();
              stream.sent += piece.size();
              stream.complete = piece.empty();
              node.channel->put(piece);
              if (stream.complete) node.channel->finish();
            }
            if (!node.channel->closed()) return false;
            auto const& said = node.channel->said();
            auto const why = last_line(said);
            auto const* const next = said.find("File exists") != std::string::npos
                                         ? ": do the hosts share this folder? Then write {node} in --root_dir"
                                         : ": check --root_dir and the room on its disk";
            throw Error(Errc::config_invalid, "'", node.workspace, "' was not filled, ", why, next);
          },
          [&] {
            std::string text;
            for (auto const& node : nodes) text += concat(text.empty() ? "" : ", ", share(node));
            return text;
          },
          {},
          true});
  std::uint64_t sent = 0;
  for (auto const& stream : streams) sent += stream.sent;
  context.info(concat("Copied ", megabytes(sent), " MB to ", nodes.size(), " hosts, into ", nodes.front().workspace));
  try_copied(context, nodes);
}

std::vector<std::string> gather_logs(SshContext& context, std::vector<SshNode>& nodes, fs::path const& log_dir) {
  struct File {
    Descriptor log;
    std::uint64_t left = 0;
  };
  std::vector<File> files(nodes.size());
  std::vector<std::string> troubles;
  auto const folder = [&](SshNode const& node) { return node_folder(log_dir, node.index); };
  auto const names_of = [](SshNode const& node) {
    std::vector<std::string> names;
    for (auto const& member : node.members) names.push_back(log_name(member));
    return names;
  };
  for (auto& node : nodes) {
    std::error_code error;
    fs::create_directories(folder(node), error);
    node.channel = std::make_unique<SshChannel>(context.settings, node.host);
    node.channel->put(gather_script(concat(node.workspace, "/log"), names_of(node), most_of_a_log));
  }
  // Only the names that were asked for are written, whatever the other side says.
  auto const open_next = [&](SshNode const& node, std::string const& text) {
    auto const blank = text.rfind(' ');
    auto& file = files[node.index];
    auto const names = names_of(node);
    auto const name = text.substr(0, blank);
    bool const right = blank != std::string::npos &&
                       parse_number(std::string_view(text).substr(blank + 1), file.left) &&
                       std::ranges::find(names, name) != names.end();
    if (!right || file.left > most_of_a_log) throw Error(Errc::wire_message, "'", text, "' was not asked for");
    file.log = open_log(folder(node) / name).value();
  };
  try {
    settle(context, nodes,
           {"Gathering logs", "gave no logs", std::chrono::seconds(30), [&](SshNode& node) {
              auto& file = files[node.index];
              for (auto& bytes = node.channel->received();;) {
                if (file.left != 0) {
                  auto const text = bytes.take(static_cast<std::size_t>(file.left));
                  if (text.empty()) break;
                  file.left -= text.size();
                  if (::write(file.log.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
                    throw Error(Errc::config_invalid, "the log folder '", folder(node).string(), "' is full");
                  }
                  continue;
                }
                auto const line = bytes.next();
                if (!line) break;
                if (auto const text = told(*line, "file")) open_next(node, *text);
                if (told(*line, "gathered")) {
                  node.channel.reset();
                  return true;
                }
              }
              if (node.channel->closed()) throw unreached(node);
              return false;
            }});
  } catch (Error const& error) {
    troubles.emplace_back(error.message());
  } catch (Interrupted const&) {
    troubles.emplace_back("ssh: interrupted while the logs were gathered");
  }
  for (auto& node : nodes) {
    node.channel.reset();
    for (auto const& member : {JobRole::server, JobRole::trainer}) {
      auto const first = std::ranges::find(node.members, member, &JobMember::role);
      if (first == node.members.end()) continue;
      std::error_code error;
      bool const server = member == JobRole::server;
      for (auto const* const name :
           {server ? "server.log" : "train.log", server ? "paddle_pserver2.INFO" : "paddle_trainer.INFO"}) {
        fs::remove(folder(node) / name, error);
        fs::create_symlink(log_name(*first), folder(node) / name, error);
      }
    }
  }
  return troubles;
}

}  // namespace prrun
