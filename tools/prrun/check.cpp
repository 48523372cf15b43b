// SPDX-License-Identifier: Apache-2.0
// prrun check: what works on this machine, a line each, and the way out for what does not.

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/program.hpp>

#include "build_info.hpp"
#include "command_line.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

constexpr char const* description = R"(Examples:
  prrun check        a line per feature: what works on this machine, and how to get what does not

Exit code 0 when a job can run on this machine; what only other kinds of jobs need may be missing.)";

/// What was found, or what is missing and the way out.
struct Finding {
  bool works = false;
  std::string text;
};

/// A folder that goes with its owner.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    auto name = (fs::temp_directory_path(error) / "prrun_check_XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;

  [[nodiscard]] fs::path const& path() const { return path_; }

 private:
  fs::path path_;
};

/// The exit code of a process of ours and the first line it wrote; nothing when it could not start or took too long.
struct Ran {
  int code = 0;
  std::string line;
};

std::optional<Ran> run_for(Scratch const& scratch, fs::path const& program, Words const& arguments,
                           std::chrono::milliseconds patience, Words const& environment = current_environment()) {
  auto const log_file = scratch.path() / "out";
  auto const log = open_log(log_file);
  if (!log) return std::nullopt;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  Descriptor const ours(ends[0]);
  Descriptor theirs(ends[1]);
  // The pipe closes when the process and all it started have gone.
  auto const pid = spawn({program.string(), arguments, environment, log->get(), theirs.get()});
  theirs.reset();
  if (!pid) return std::nullopt;
  pollfd entry{ours.get(), POLLIN, 0};
  bool const ended = ::poll(&entry, 1, static_cast<int>(patience.count())) > 0;
  if (!ended) ::kill(-*pid, SIGKILL);
  int status = 0;
  ::waitpid(*pid, &status, 0);
  if (!ended) return std::nullopt;
  auto const lines = last_lines(log_file, 1000);
  return Ran{exit_code(ending_of(status)), lines.empty() ? std::string() : lines.front()};
}

std::string failure_of_sockets() {
  auto const port = bind_loopback();
  if (!port) return std::string(port.error().message());
  if (auto const listening = start_listening(*port); !listening) return std::string(listening.error().message());
  Descriptor const client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port->endpoint.port);
  if (::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return {};
  return concat("connecting to ", to_string(port->endpoint), " failed: ", std::generic_category().message(errno));
}

Finding sockets() {
  auto const failure = failure_of_sockets();
  if (failure.empty()) return {true, "connections over 127.0.0.1"};
  return {false, concat(failure, ": bring the loopback device up (ip link set lo up)")};
}

/// A real job of one server and one trainer.
Finding local_job(Scratch const& scratch) {
  std::error_code error;
  auto const self = fs::read_symlink("/proc/self/exe", error);
  auto const log_dir = (scratch.path() / "log").string();
  // The machine is asked, not what a job of the user's would be given.
  auto environment = current_environment();
  std::erase_if(environment, [](std::string const& entry) {
    return entry.starts_with("PADDLE_") || entry.starts_with("POD_IP=") || entry.starts_with("FLAGS_") ||
           entry.starts_with("TRAINING_ROLE=");
  });
  auto const ran = run_for(scratch, self, {"--quiet", "--timeout", "20", "--log_dir", log_dir, "--", "true"},
                           std::chrono::seconds(30), environment);
  if (ran && ran->code == 0) return {true, "1 server and 1 trainer started and ended"};
  if (!ran) return {false, "a job did not start or did not end: check ulimit -u, ulimit -n and the space in TMPDIR"};
  return {false, concat("a job ended with code ", ran->code, ": ", ran->line)};
}

Finding program(Scratch const& scratch, std::string_view name, Words const& arguments, std::string_view way_out) {
  auto const found = find_program(name, process_environment("PATH").value_or(""), "");
  if (!found) return {false, concat("there is no ", name, ": ", way_out)};
  auto const ran = run_for(scratch, *found, arguments, std::chrono::seconds(5));
  if (!ran || ran->code != 0) return {false, concat(found->string(), " does not run: ", way_out)};
  return {true, concat(found->string(), ", ", ran->line)};
}

using Library = std::unique_ptr<void, int (*)(void*)>;

Library open_library(char const* name) {
  return {::dlopen(name, RTLD_NOW | RTLD_LOCAL), ::dlclose};
}

template <class Function>
Function function_of(Library const& library, char const* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library.get(), name));
}

Finding blas() {
  for (auto const* const name : {"libopenblas.so.0", "libblas.so.3"}) {
    auto const library = open_library(name);
    auto const dot = function_of<float (*)(int, float const*, int, float const*, int)>(library, "cblas_sdot");
    if (dot == nullptr) continue;
    float const a[]{1, 2, 3};
    float const b[]{4, 5, 6};
    if (dot(3, a, 1, b, 1) == 32.0F) return {true, concat(name, ", cblas_sdot computes")};
    return {false, concat(name, " computes a wrong product: install another BLAS (apt-get install libopenblas0)")};
  }
  return {false, "there is no libopenblas.so.0: apt-get install libopenblas0 (only networks of prdist::nn need it)"};
}

Finding cuda() {
  auto const library = open_library("libcuda.so.1");
  auto const init = function_of<int (*)(unsigned)>(library, "cuInit");
  auto const count = function_of<int (*)(int*)>(library, "cuDeviceGetCount");
  if (init == nullptr || count == nullptr) {
    return {false, "there is no libcuda.so.1: install NVIDIA's driver; training on the CPU needs none"};
  }
  int cards = 0;
  if (init(0) != 0 || count(&cards) != 0 || cards == 0) {
    return {false, "the driver finds no card: look with nvidia-smi; in a container, ask for nvidia.com/gpu"};
  }
  return {true, concat(cards, " cards", build_info.cuda ? "" : ", but prdist was built without the CUDA toolkit")};
}

Finding nccl() {
  auto const library = open_library("libnccl.so.2");
  auto const get = function_of<int (*)(int*)>(library, "ncclGetVersion");
  int number = 0;
  if (get == nullptr || get(&number) != 0) {
    return {false, "there is no libnccl.so.2: install NCCL; parameter servers need none"};
  }
  return {true, concat("version ", number)};
}

Finding pod_listing() {
  if (build_info.ssl) return {true, "HTTPS for listing pods is built in"};
  return {false, "built without OpenSSL, pods cannot be listed: build with libssl-dev, or use discovery: dns"};
}

}  // namespace

int run_check(Words const& words) {
  CommandLine line(description, "", "Usage: prrun check", "prrun check --help");
  Words nothing;
  if (auto const code = line.parse(words, false, nothing)) return *code;
  Scratch const scratch;
  if (scratch.path().empty()) {
    std::cout << "no   temporary folder: nothing can be written to TMPDIR: give another one\n";
    return 78;
  }
  bool local = true;
  auto const show = [&](std::string_view name, bool needed, Finding const& finding) {
    std::cout << (finding.works ? "yes  " : "no   ") << name << std::string(9 - name.size(), ' ') << finding.text
              << std::endl;
    local = local && (finding.works || !needed);
  };
  show("sockets", true, sockets());
  show("job", true, local_job(scratch));
  show("blas", false, blas());
  show("mpi", false,
       program(scratch, "mpirun", {"--version"}, "apt-get install openmpi-bin (only prrun mpi needs it)"));
  show("cuda", false, cuda());
  show("nccl", false, nccl());
  show("k8s", false, pod_listing());
  show("kubectl", false,
       program(scratch, "kubectl", {"version", "--client"}, "install it where jobs are sent from; pods need none"));
  show("etcd", false,
       program(scratch, "etcd", {"--version"}, "apt-get install etcd-server (only for etcd:// masters)"));
  show("ssh", false, program(scratch, "ssh", {"-V"}, "apt-get install openssh-client (only jobs over SSH need it)"));
  std::cout << (local ? "A job can run on this machine.\n"
                      : "No job can run on this machine: see the lines with no.\n");
  if (!std::cout.flush()) return 74;
  return local ? 0 : 78;
}

}  // namespace prrun
