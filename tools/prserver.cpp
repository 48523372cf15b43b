// SPDX-License-Identifier: Apache-2.0
// prserver: a parameter server for any model, started as `paddle pserver` was.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/host_list.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/nics.hpp>
#include <prdist/core/stop_signal.hpp>
#include <prdist/core/text.hpp>
#include <prdist/fleet/options.hpp>
#include <prdist/fleet/run_main.hpp>
#include <prdist/fleet/standalone_server.hpp>
#include <prdist/launch/daemon.hpp>
#include <prdist/launch/pid_file.hpp>
#include <prdist/transport/beast.hpp>
#include <prdist/transport/tcp.hpp>
#include <prdist/version.hpp>

using namespace prdist;
namespace fs = std::filesystem;

namespace {

constexpr int wrong_usage = 64;

constexpr char const* description = R"(Examples:
  prserver --num_gradient_servers 2                         ports 7164 and 7165, for two trainers
  prserver --port 7164 --ports_num 1 --ports_num_for_sparse 1 --num_gradient_servers 2 --nics eth0
  prserver --num_gradient_servers 2 --daemon --log pserver.log --pid_file pserver.pid

Serves whatever tables the trainers declare, until all of them have stopped.)";

constexpr char const* notes =
    R"(Ports: dense parameters and everything else on PORT and the N ports from there, rows of sparse parameters on the
ports behind those. Trainers are told the same numbers: PADDLE_INIT_PSERVERS=host1,host2, PADDLE_INIT_PORT,
PADDLE_INIT_PORTS_NUM, PADDLE_INIT_PORTS_NUM_FOR_SPARSE, PADDLE_INIT_NUM_GRADIENT_SERVERS, PADDLE_INIT_TRAINER_ID.
Which server of the job this is, the first trainer says, unless --server_id or --pservers tells before.

Each flag may be spelled with hyphens. The first six may also come from PADDLE_INIT_PORT, _PORTS_NUM,
_PORTS_NUM_FOR_SPARSE, _NUM_GRADIENT_SERVERS, _NICS and _PSERVERS; what the command line says goes before. Limits: PRDIST_WAIT_WORKERS, PRDIST_LOST_AFTER, PRDIST_SERVER_THREADS,
PRDIST_SERVER_MEMORY_MB. Look into it: curl http://HOST:PORT/healthz, /v1/tables, /v1/ports.

Exit code: 0 when all trainers have stopped, 75 when one was lost or has not come, 143 after SIGTERM and 130 after
Ctrl-C, when the trainers have saved; 64 for wrong flags, 78 for a port or an interface that cannot be used.)";

struct Flags {
  std::optional<std::uint32_t> port;
  std::optional<std::uint32_t> ports_num;
  std::optional<std::uint32_t> ports_num_for_sparse;
  std::optional<std::uint32_t> num_gradient_servers;
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> server_id;
  std::optional<std::string> nics;
  std::optional<std::string> pservers;
  std::string transport = "beast";
  std::string log;
  std::string pid_file;
  bool daemon = false;
};

std::string with_hyphens(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string spelled(std::string const& name) {
  auto const hyphens = with_hyphens(name);
  return hyphens == name ? "--" + name : concat("--", name, ",--", hyphens);
}

CLI::Validator within(std::uint32_t least, std::uint32_t most) {
  return CLI::Validator(
      [=](std::string const& text) {
        std::uint32_t number = 0;
        if (parse_number(text, number) && number >= least && number <= most) return std::string();
        return concat("'", text, "' is not a number from ", least, " to ", most);
      },
      "");
}

/// One spelling of each flag is enough to read.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(CLI::App const*, std::string) const override { return "\nUsage: prserver [flags]\n"; }
  std::string make_option_name(CLI::Option const* option, bool) const override {
    return concat("--", option->get_lnames().front());
  }
};

void declare(CLI::App& app, Flags& flags) {
  auto const number = [&](std::string const& name, auto& value, std::uint32_t least, std::uint32_t most,
                          std::string const& text) {
    app.add_option(spelled(name), value, text)->check(within(least, most))->type_name("N");
  };
  number("port", flags.port, 1, 65535, "the first port; 7164");
  number("ports_num", flags.ports_num, 1, 1024, "ports for dense parameters; 1");
  number("ports_num_for_sparse", flags.ports_num_for_sparse, 0, 1024, "ports for rows of sparse parameters; 1");
  number("num_gradient_servers", flags.num_gradient_servers, 1, 65536, "TRAINERS of the job, as Paddle means it; 1");
  app.add_option("--nics", flags.nics, "interfaces to listen on, by name; all")->type_name("eth0,...");
  app.add_option("--pservers", flags.pservers, "hosts of all servers, in the trainers' order")->type_name("HOST,...");
  number("server_id", flags.server_id, 0, 65535, "this one's place among them; or PADDLE_PSERVER_ID");
  number("pserver_num_threads", flags.threads, 1, 256, "threads that own rows; a quarter of the cores");
  app.add_option("--transport", flags.transport, "what trainers were built with: beast or tcp")
      ->check(CLI::IsMember({"beast", "tcp"}))
      ->type_name("NAME");
  app.add_flag("--daemon", flags.daemon, "goes on in the background, when it listens");
  app.add_option("--log", flags.log, "file that gets all output, behind what is there; with --daemon pserver.log")
      ->type_name("FILE");
  app.add_option(spelled("pid_file"), flags.pid_file, "file that holds the process id while it serves")
      ->type_name("FILE");
}

/// Flags of `paddle pserver` and `paddle train` that scripts pass along; the first of them take no value.
constexpr std::size_t without_value = 5;
constexpr std::array<std::string_view, 22> paddle_only{"use_gpu",
                                                       "local",
                                                       "start_pserver",
                                                       "loadsave_parameters_in_pserver",
                                                       "save_only_one",
                                                       "comment",
                                                       "rdma_tcp",
                                                       "trainer_id",
                                                       "trainer_count",
                                                       "gpu_id",
                                                       "parallel_thread_num",
                                                       "log_period_server",
                                                       "async_lagged_ratio_min",
                                                       "async_lagged_ratio_default",
                                                       "small_messages",
                                                       "sock_send_buf_size",
                                                       "sock_recv_buf_size",
                                                       "port_num",
                                                       "logtostderr",
                                                       "log_dir",
                                                       "save_dir",
                                                       "config"};

/// Takes Paddle's own flags out of the words and returns their names.
std::vector<std::string> take_paddles(std::vector<std::string>& words) {
  std::vector<std::string> taken, rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // gflags reads -port as --port.
    if (words[i].size() > 2 && words[i][0] == '-' && words[i][1] != '-') words[i].insert(0, "-");
    auto const& word = words[i];
    auto const equals = word.find('=');
    auto name = word.starts_with("--") ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    std::ranges::replace(name, '-', '_');
    auto found = std::ranges::find(paddle_only, name);
    if (found == paddle_only.end() && name.starts_with("no")) {
      auto const positive = std::ranges::find(paddle_only, name.substr(2));  // gflags: --nouse_gpu
      if (positive - paddle_only.begin() < static_cast<std::ptrdiff_t>(without_value)) found = positive;
    }
    if (found == paddle_only.end()) {
      rest.push_back(word);
      continue;
    }
    taken.push_back(concat("--", name));
    bool const switches = found - paddle_only.begin() < static_cast<std::ptrdiff_t>(without_value);
    if (equals == std::string::npos && !switches && i + 1 < words.size() && !words[i + 1].starts_with('-')) ++i;
  }
  words = std::move(rest);
  return taken;
}

/// The flag, or else the variable, or nothing; tells when both are there and differ.
template <class Value>
std::optional<Value> given(std::string_view flag, std::optional<Value> const& value, std::string_view variable,
                           std::optional<Value> const& from_environment) {
  if (value && from_environment && *value != *from_environment) {
    log(Level::info, "prserver: --", flag, " ", *value, " goes before ", variable, "=", *from_environment);
  }
  return value ? value : from_environment;
}

std::optional<std::uint32_t> number_given(std::string_view flag, std::optional<std::uint32_t> const& value,
                                          std::uint32_t least, std::uint32_t most) {
  std::string name = "PADDLE_INIT_";
  for (auto const c : flag) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return given(flag, value, name, number_in(process_environment, name, least, most));
}

/// Whether `host` is this machine, as far as can be told without asking a name service that may not answer.
bool is_here(std::string const& host, std::vector<Nic> const& nics) {
  for (auto const& nic : nics) {
    if (std::ranges::find(nic.addresses, host) != nic.addresses.end()) return true;
  }
  char name[256] = "";
  if (host == "localhost" || ::gethostname(name, sizeof name - 1) != 0) return host == "localhost";
  return host == name || host.starts_with(concat(std::string_view(name), '.'));
}

/// This server's place in the list: where its host is this machine and its port is ours. Nothing when that is no place
/// or several: then trainers tell.
std::optional<std::uint32_t> own_place(std::vector<Endpoint> const& servers, std::uint16_t port) {
  auto const nics = all_nics();
  std::optional<std::uint32_t> found;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].port != port || !is_here(servers[i].host, nics)) continue;
    if (found) return std::nullopt;
    found = static_cast<std::uint32_t>(i);
  }
  return found;
}

StandaloneOptions options_of(Flags const& flags) {
  StandaloneOptions options;
  options.port = static_cast<std::uint16_t>(number_given("port", flags.port, 1, 65535).value_or(options.port));
  options.ports.dense = number_given("ports_num", flags.ports_num, 1, 1024).value_or(1);
  options.ports.sparse = number_given("ports_num_for_sparse", flags.ports_num_for_sparse, 0, 1024).value_or(1);
  options.trainers = number_given("num_gradient_servers", flags.num_gradient_servers, 1, 65536).value_or(1);
  auto const nics = given<std::string>("nics", flags.nics, "PADDLE_INIT_NICS", process_environment("PADDLE_INIT_NICS"));
  if (nics && !nics->empty()) options.addresses = addresses_of_nics(*nics, all_nics());

  options.place.index = given<std::uint32_t>("server_id", flags.server_id, "PADDLE_PSERVER_ID",
                                             number_in(process_environment, "PADDLE_PSERVER_ID", 0, 65535));
  auto const pservers = given<std::string>("pservers", flags.pservers, "PADDLE_INIT_PSERVERS",
                                           process_environment("PADDLE_INIT_PSERVERS"));
  if (!pservers) return options;
  auto const* const name = flags.pservers ? "--pservers" : "PADDLE_INIT_PSERVERS";
  // The trainers' first port; ours may be that of a second server on its host.
  auto const first = number_in(process_environment, "PADDLE_INIT_PORT", 1, 65535).value_or(options.port);
  auto const servers = endpoints_of_hosts(name, *pservers, static_cast<std::uint16_t>(first), options.ports);
  options.place.servers = static_cast<std::uint32_t>(servers.size());
  if (!options.place.index) options.place.index = own_place(servers, options.port);
  if (!options.place.index) return options;
  if (*options.place.index >= servers.size()) {
    throw Error(Errc::config_contradiction, "--server_id ", *options.place.index, " but ", name, "='", *pservers,
                "' has ", servers.size(), " servers: ids run from 0 to ", servers.size() - 1);
  }
  options.servers_here =
      static_cast<std::size_t>(std::ranges::count(servers, servers[*options.place.index].host, &Endpoint::host));
  return options;
}

template <class Choice>
int serve(Flags const& flags, std::vector<std::string> const& without_effect, std::function<void()> const& ready) {
  StopSignal const stop_signal;
  std::string names;
  for (auto const& name : without_effect) names += concat(names.empty() ? "" : ", ", name);
  if (!names.empty()) log(Level::info, "prserver: of Paddle alone, without effect here: ", names);
  auto fleet = options_from_env();
  if (flags.threads) fleet.server_threads = *flags.threads;
  auto const options = options_of(flags);
  StandaloneServer<Choice> server(options, fleet);
  server.listen();
  PidFile const pid_file(flags.pid_file);
  log(Level::info, "prdist ", version, " prserver for ", options.trainers, " trainers",
      options.place.index ? concat(", server ", *options.place.index) : std::string());
  ready();
  return server.run();
}

int run(Flags const& flags, std::vector<std::string> const& without_effect) {
  auto const body = [&](std::function<void()> const& ready) {
    return flags.transport == "tcp" ? serve<Tcp>(flags, without_effect, ready)
                                    : serve<Beast>(flags, without_effect, ready);
  };
  if (!flags.daemon) {
    if (!flags.log.empty()) write_to(open_daemon_log(flags.log));
    return body([] {});
  }
  fs::path const log_path = flags.log.empty() ? "pserver.log" : flags.log;
  auto const started = start_daemon(log_path, std::chrono::seconds(30), body);
  if (!started.error.empty()) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return started.exit_code;
  }
  std::printf("prserver: process %d serves, log %s\n", static_cast<int>(started.pid), log_path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(description, "prserver");
  Flags flags;
  declare(app, flags);
  app.footer(notes);
  app.formatter(std::make_shared<Help>());
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string(version));
  std::vector<std::string> words(argv + 1, argv + argc);
  auto const without_effect = take_paddles(words);
  try {
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(words);
  } catch (CLI::Success const& wanted) {
    return app.exit(wanted);
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "prserver: %s\nUsage: prserver [flags]\nTry: prserver --help\n", error.what());
    return wrong_usage;
  }
  return run_main([&] { return run(flags, without_effect); });
}
