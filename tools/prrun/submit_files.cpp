// SPDX-License-Identifier: Apache-2.0
#include "submit_files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>
#include <system_error>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/program.hpp>

#include "commands/commands.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

constexpr auto marker = ".prrun";

/// Becomes the script, which then is the job: signals and exit code are its own.
[[noreturn]] void become(fs::path const& script) {
  auto const path = fs::absolute(script).string();
  Words const words{path};
  auto const pointers = prdist::detail::pointers_to(words);
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::execv(path.c_str(), pointers.data());
  throw Error(Errc::config_invalid, "submit: cannot run '", path, "': ", std::generic_category().message(errno),
              ". Is its folder mounted noexec? Give another one with --job_dir");
}

bool in_path(std::string_view name) {
  return static_cast<bool>(find_program(name, process_environment("PATH").value_or(""), "/nonexistent"));
}

/// The ranks find prrun by PATH; one that was started by its path may be in none of its folders.
void put_beside_in_path() {
  if (in_path("prrun")) return;
  auto const path = process_environment("PATH").value_or("/usr/bin:/bin");
  ::setenv("PATH", concat(path, ':', own_folder().string()).c_str(), 1);
}

}  // namespace

std::string title(gen::Job const& job) {
  return concat("job ", job.spec.job_name.value, " for ", job.target, ", ", job.spec.server_num.value, " servers and ",
                job.spec.trainer_num.value, " trainers");
}

fs::path job_folder(SubmitFlags const& flags, gen::Job const& job) {
  return flags.folder.empty() ? fs::path("prrun_jobs") / job.spec.job_name.value : fs::path(flags.folder);
}

void write_files(SubmitFlags const& flags, fs::path const& folder, std::vector<gen::File> const& files) {
  std::error_code error;
  bool const ours = fs::exists(folder / marker, error) || flags.replace;
  for (auto const& file : files) {
    if (ours || !fs::exists(fs::symlink_status(folder / file.name, error))) continue;
    throw Error(Errc::config_contradiction, "submit: '", (folder / file.name).string(),
                "' is there already and prrun did not write it: give another folder with --job_dir, or --replace");
  }
  fs::create_directories(folder, error);
  if (error) {
    throw Error(Errc::config_invalid, "submit: the folder '", folder.string(), "' cannot be made, ", error.message(),
                ": give another one with --job_dir");
  }
  std::ofstream(folder / marker) << "written by prrun; files of this folder are replaced\n";
  for (auto const& file : files) gen::write_file(folder / file.name, file);
}

void plan_of_files(std::string const& what, fs::path const& folder, std::vector<gen::File> const& files) {
  std::cout << what << "\nfiles in " << folder.string() << ":\n";
  for (auto const& file : files) std::cout << "  " << file.name << ", " << file.text.size() << " bytes\n";
}

int submit_mpi(SubmitFlags const& flags, gen::Job const& job, std::vector<gen::File> files) {
  auto const folder = job_folder(flags, job);
  bool const batch = job.spec.hpc.given;
  std::string const program = job.spec.mpi.value == "mpich" ? "mpiexec" : "mpirun";
  std::error_code error;
  if (!batch && !job.spec.hosts.given && !process_environment("PBS_NODEFILE") &&
      !fs::exists(folder / "machines", error)) {
    // The seeds' own command line: mpirun -hostfile machines.
    if (!fs::is_regular_file("machines", error)) {
      throw Error(Errc::config_missing, "submit: no machines: write hosts: [...] below submit, ",
                  "or a file 'machines' here with one host per line");
    }
    files.push_back({"machines", gen::read_source("machines", std::cin)->text});
  }
  auto const script = folder / (batch ? "submit.sh" : "run.sh");
  if (flags.dry_run) {
    plan_of_files(title(job), folder, files);
    std::cout << "commands, in order:\n  " << script.string() << '\n';
    if (!batch) {
      std::cout << "    which runs " << program << " with " << job.spec.pods() << " ranks of "
                << (folder / "start.sh").string() << '\n';
    }
    return std::cout.flush() ? 0 : 74;
  }
  if (batch && !fs::exists(fs::path(job.spec.hpc.value) / "bin/qsub_f", error)) {
    throw Error(Errc::config_missing, "submit: there is no ", job.spec.hpc.value,
                "/bin/qsub_f: ", "correct submit.hpc, or take it out and the job runs by mpirun");
  }
  if (!batch && !in_path(program)) {
    throw Error(Errc::config_missing, "submit: there is no ", program,
                " in PATH: install it (Debian: ", job.spec.mpi.value == "openmpi" ? "openmpi-bin" : "mpich",
                "), or run the job on this machine with --backend local");
  }
  write_files(flags, folder, files);
  put_beside_in_path();
  if (!flags.quiet) std::cerr << title(job) << ": " << script.string() << std::endl;
  become(script);
}

int submit_paddlecloud(SubmitFlags const& flags, gen::Job const& job, std::vector<gen::File> const& files) {
  auto const folder = job_folder(flags, job);
  auto const script = folder / "job.sh";
  if (flags.dry_run) {
    plan_of_files(concat("job ", job.spec.job_name.value, " for paddlecloud"), folder, files);
    std::cout << "commands, in order:\n  " << script.string() << "\n    which runs paddlecloud job train with keys "
              << "from PADDLECLOUD_AK, PADDLECLOUD_SK and FS_UGI\n";
    return std::cout.flush() ? 0 : 74;
  }
  write_files(flags, folder, files);
  if (!in_path("paddlecloud")) {
    throw Error(Errc::config_missing, "submit: there is no paddlecloud in PATH, the client of PaddleCloud. The files ",
                "are in ", folder.string(), ": install it, or take them where it is; then set PADDLECLOUD_AK, ",
                "PADDLECLOUD_SK and FS_UGI and run ", script.string());
  }
  for (auto const* const name : {"PADDLECLOUD_AK", "PADDLECLOUD_SK", "FS_UGI"}) {
    bool const wanted = std::string_view(name) != "FS_UGI" || !job.spec.job_conf.given;
    if (!wanted || !process_environment(name).value_or("").empty()) continue;
    throw Error(Errc::config_missing, "submit: ", name, " is not set: PaddleCloud's client needs it; set it in the ",
                "environment, never in a file");
  }
  if (!flags.quiet) std::cerr << "job " << job.spec.job_name.value << ": " << script.string() << std::endl;
  become(script);
}

}  // namespace prrun
