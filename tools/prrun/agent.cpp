// SPDX-License-Identifier: Apache-2.0
// prrun agent: what prrun --hostfile runs on each host, over ssh. It is told its share of the job on standard input,
// runs it under guard, says on standard output what happens, and ends everything when nobody listens any more.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/log_tail.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/report_json.hpp>
#include <prdist/launch/ssh/line_buffer.hpp>
#include <prdist/launch/ssh/messages_json.hpp>
#include <prdist/version.hpp>

#include "command_line.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

using Clock = std::chrono::steady_clock;

/// The launcher's end of the channel: standard input and output.
class Launcher {
 public:
  explicit Launcher(std::chrono::milliseconds patience) : patience_(patience) {}

  void patience(std::chrono::milliseconds patience) { patience_ = patience; }

  void say(json::object const& message) {
    out_.put(line_of(message));
    out_.flush({});
  }
  /// Whether so much is unsent that what is only for show had better wait.
  [[nodiscard]] bool congested() const noexcept { return out_.size() > (64 << 10); }
  void flush(std::chrono::milliseconds patience) { out_.flush(patience); }

  /// Messages that came, waiting for at most `wait`.
  [[nodiscard]] std::vector<json::object> hear(std::chrono::milliseconds wait) {
    std::vector<json::object> messages;
    pollfd entry{STDIN_FILENO, POLLIN, 0};
    while (open_ && ::poll(&entry, 1, static_cast<int>(wait.count())) > 0) {
      wait = {};
      char bytes[16 * 1024];
      auto const got = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        open_ = false;
        break;
      }
      heard_ = Clock::now();
      lines_.put({bytes, static_cast<std::size_t>(got)});
    }
    while (auto const line = lines_.next()) messages.push_back(parse_message(*line));
    return messages;
  }

  /// Why nobody listens any more; empty while somebody does.
  [[nodiscard]] std::string gone() const {
    if (!open_) return "the launcher's channel has closed";
    if (Clock::now() - heard_ < patience_) return {};
    return concat("nothing was heard from the launcher for ", patience_.count() / 1000, " s");
  }

 private:
  detail::OutputQueue out_{STDOUT_FILENO};
  LineBuffer lines_;
  std::chrono::milliseconds patience_;
  Clock::time_point heard_ = Clock::now();
  bool open_ = true;
};

/// The first IPv4 address of an interface, or its first IPv6 address beyond the link. @throws Error
std::string address_of(std::string const& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) list = nullptr;
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const owner(list, &::freeifaddrs);
  std::string v6;
  for (auto const* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || name != each->ifa_name) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (each->ifa_addr->sa_family == AF_INET) {
      ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in const*>(each->ifa_addr)->sin_addr, text, sizeof text);
      return text;
    }
    if (each->ifa_addr->sa_family != AF_INET6 || !v6.empty()) continue;
    auto const& address = reinterpret_cast<sockaddr_in6 const*>(each->ifa_addr)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&address)) v6 = ::inet_ntop(AF_INET6, &address, text, sizeof text);
  }
  if (!v6.empty()) return v6;
  throw Error(Errc::config_invalid, "launcher: there is no interface '", name, "' with an address",
              ": ip address shows those there are; change --nics");
}

/// How the others reach this host: where ssh came to, unless somebody knows better.
std::string own_address(AgentJob const& job) {
  if (!job.nics.empty()) return address_of(job.nics);
  auto const connection = process_environment("SSH_CONNECTION").value_or("");  // client, its port, server, its port
  std::istringstream words(connection);
  std::string client;
  std::string port;
  std::string address;
  return words >> client >> port >> address ? address : job.host;
}

void write_report(JobReport const& report) {
  std::ofstream("log/report.json") << json::serialize(to_json(report)) << '\n';
}

class Agent {
 public:
  explicit Agent(JobLedger& ledger) : ledger_(ledger) {}

  int run() {
    try {
      return run_job();
    } catch (Error const& error) {
      launcher_.say({{"say", "error"}, {"code", exit_code(error.code())}, {"text", error.what()}});
      launcher_.flush(last_words);
      return exit_code(error.code());
    }
  }

 private:
  static constexpr std::chrono::seconds last_words{10};

  int run_job() {
    auto const held = hold_signals();
    adopt_orphans();
    signals_.emplace(held);
    launcher_.say({{"say", "hello"}, {"version", version}});
    job_ = agent_job_of(await("job"));
    launcher_.patience(job_.patience);
    auto local = prepare();
    NodeReady ready{address_, {}, 0};
    for (auto const& port : ports_) ready.ports.push_back(port);
    ready.gloo = local.others.back().endpoint.port;
    launcher_.say(to_json(ready));
    auto plan = plan_of_message(await("plan"));
    signals_.reset();  // the supervisor's now
    plan.job_id = job_.job_id;
    plan.log_dir = "log";
    plan.here = job_.members;
    set_paddle_v2(plan);
    local.plan = std::move(plan);
    return supervise(std::move(local), held);
  }

  /// Waits for this message. @throws Error when the launcher goes or a signal comes
  json::object await(std::string_view what) {
    for (;;) {
      for (auto& message : launcher_.hear(std::chrono::milliseconds(100))) {
        auto const said = text_field(message, "say");
        if (said == what) return std::move(message);
        if (said == "stop" || said == "kill") throw Error(Errc::job_state, "launcher: stopped before the job ran");
      }
      if (auto const why = launcher_.gone(); !why.empty())
        throw Error(Errc::job_peer_lost, why, ": nothing was started");
      // Others may take long to get ready.
      if (auto const now = Clock::now(); now - told_ >= std::chrono::seconds(1)) {
        told_ = now;
        launcher_.say({{"say", "alive"}});
      }
      for (int const signal : signals_->wait({})) {
        if (signal != SIGCHLD)
          throw Error(Errc::job_peer_lost, "launcher: ", signal_name(signal), " before the job ran");
      }
    }
  }

  /// The workspace's files, the program and the ports.
  LocalPlan prepare() {
    for (auto const& entry : job_.environment) {
      auto const equals = entry.find('=');
      if (equals == std::string::npos || equals == 0) continue;
      ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
    std::error_code error;
    fs::create_directories("output", error);
    std::ofstream("nodefile") << job_.node << '\n';
    fs::create_directories("log", error);
    if (!fs::is_regular_file("nodefile", error) || !fs::is_directory("log", error)) {
      throw Error(Errc::config_invalid, "launcher: nothing can be written in the workspace '",
                  fs::current_path(error).string(), "': check its owner and permissions");
    }
    program_ = find_program(job_.program, process_environment("PATH").value_or(""), own_folder()).value();
    address_ = own_address(job_);
    LocalPlan local;
    std::size_t servers = 0;
    for (auto const& member : job_.members) {
      bool const server = member.role == JobRole::server;
      std::size_t const wanted = server && job_.port != 0 ? job_.port + job_.width * servers : 0;
      if (wanted + job_.width - 1 > 65535) {
        throw Error(Errc::config_invalid, "launcher: ", to_string(member), " needs port ", wanted,
                    ", which does not exist: begin lower with --port");
      }
      auto port = bind_endpoint({address_, static_cast<std::uint16_t>(wanted)}).value();
      ports_.push_back(port.endpoint.port);
      link_log(member, server ? servers == 0 : trainers_++ == 0);
      if (server) ++servers;
      if (server) local.servers.emplace(member.index, std::move(port));
      if (!server) local.others.push_back(std::move(port));
    }
    local.others.push_back(bind_endpoint({address_, 0}).value());  // gloo
    return local;
  }

  /// The names that people know from paddle.py, of the first server and the first trainer here.
  static void link_log(JobMember const& member, bool first) {
    if (!first) return;
    bool const server = member.role == JobRole::server;
    std::error_code error;
    for (fs::path const name : {server ? "log/server.log" : "log/train.log",
                                server ? "log/paddle_pserver2.INFO" : "log/paddle_trainer.INFO"}) {
      // A file of an earlier run is somebody's; a link is ours.
      if (fs::is_symlink(name, error)) fs::remove(name, error);
      if (fs::exists(name, error)) fs::rename(name, name.string() + ".prev", error);
      fs::create_symlink(log_name(member), name, error);
    }
  }

  /// What programs of Paddle v2 read. Their servers have one port on all hosts.
  void set_paddle_v2(LaunchPlan& plan) const {
    std::string hosts;
    for (auto const& server : plan.servers) hosts += concat(hosts.empty() ? "" : ",", server.host);
    ::setenv("PADDLE_INIT_PSERVERS", hosts.c_str(), 1);
    ::setenv("PADDLE_INIT_NUM_GRADIENT_SERVERS", concat(plan.trainers.size()).c_str(), 1);
    if (job_.port != 0) ::setenv("PADDLE_INIT_PORT", concat(job_.port).c_str(), 1);
    plan.paddle_v2 = true;
  }

  int supervise(LocalPlan local, sigset_t const& held) {
    LocalJob job;
    job.program = program_;
    job.arguments = job_.arguments;
    job.job_id = job_.job_id;
    job.log_dir = "log";
    job.limits.grace = job_.grace;
    job.quiet = true;
    job.ledger = &ledger_;
    job.hand_over_sockets = job_.hand_over_sockets;
    plan_ = local.plan;
    Descriptor const nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    Console console(nowhere.get(), nowhere.get());
    auto const report =
        run_planned(job, std::move(local), held, console, [this](LocalRun const& run) { between(run.supervisor); });
    if (!report) throw report.error();
    if (tail_) tail_->finish([&](std::string_view line) { launcher_.say({{"say", "line"}, {"text", line}}); });
    say_progress(report->members);
    say_endings(report->members);
    write_report(*report);
    // A failure here was told when it happened. What remains is that somebody ended this agent, or that it lost heart.
    bool const by_others = report->outcome != Outcome::succeeded && !report->first_failure;
    launcher_.say({{"say", "over"},
                   {"code", report->exit_code},
                   {"cause", by_others ? cause_of(*report) : std::string()},
                   {"leftovers_too_late", report->leftovers_too_late}});
    launcher_.flush(last_words);
    return 0;
  }

  /// Between two steps of the supervisor: what the launcher says goes in, what happened here goes out.
  void between(Supervisor& supervisor) {
    if (!running_) {
      running_ = true;
      // Who is done and when is decided where all are seen.
      supervisor.trainers_elsewhere(true);
      json::array pids;
      for (auto const& each : supervisor.members()) {
        pids.emplace_back(each.pid);
        if (each.member == JobMember{JobRole::trainer, 0}) tail_.emplace(each.log);
      }
      launcher_.say({{"say", "running"}, {"pids", std::move(pids)}});
    }
    try {
      for (auto const& message : launcher_.hear({})) obey(text_field(message, "say"));
    } catch (Error const& error) {
      supervisor.failed_elsewhere(exit_code(error.code()), error.what());
    }
    if (auto const why = launcher_.gone(); !why.empty()) supervisor.failed_elsewhere(75, why);
    if (tail_ && !launcher_.congested()) {
      tail_->poll([&](std::string_view line) { launcher_.say({{"say", "line"}, {"text", line}}); });
    }
    say_endings(supervisor.members());
    auto const now = Clock::now();
    if (now - told_ >= std::chrono::seconds(1) && !launcher_.congested()) {
      told_ = now;
      say_progress(supervisor.members());
      launcher_.say({{"say", "alive"}});
    }
    launcher_.flush({});
  }

  /// The supervisor answers signals, so the launcher's word becomes one: a second signal means at once.
  static void obey(std::string_view word) {
    if (word == "stop" || word == "kill") ::kill(::getpid(), SIGTERM);
    if (word == "kill") ::kill(::getpid(), SIGQUIT);
  }

  void say_endings(std::vector<MemberReport> const& members) {
    for (auto const& each : members) {
      if (each.ending && std::ranges::find(ended_, each.pid) == ended_.end()) {
        ended_.push_back(each.pid);
        launcher_.say(ended_to_json(each));
      }
    }
  }

  void say_progress(std::vector<MemberReport> const& members) {
    for (auto const& each : members) {
      if (each.member.role != JobRole::trainer) continue;
      auto const progress = read_progress(progress_path(plan_, each.member));
      if (!progress) continue;
      auto line = to_string(*progress);
      auto& last = progress_[each.member.index];
      if (line == last) continue;
      launcher_.say({{"say", "progress"}, {"trainer", each.member.index}, {"line", line}});
      last = std::move(line);
    }
  }

  JobLedger& ledger_;
  Launcher launcher_{std::chrono::seconds(60)};
  std::optional<SignalSource> signals_;
  AgentJob job_;
  fs::path program_;
  std::string address_;
  std::vector<std::uint16_t> ports_;
  std::size_t trainers_ = 0;
  LaunchPlan plan_;
  std::optional<LogTail> tail_;
  std::vector<pid_t> ended_;
  std::map<std::size_t, std::string> progress_;
  Clock::time_point told_{};
  bool running_ = false;
};

}  // namespace

int run_agent(Words const& words) {
  if (!words.empty()) {
    std::cerr << "prrun agent takes no arguments: prrun --hostfile starts it on other hosts\n";
    return wrong_usage;
  }
  JobLedger ledger;
  return run_guarded(
      ledger, [&] { return Agent(ledger).run(); }, write_report);
}

}  // namespace prrun
