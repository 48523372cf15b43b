// SPDX-License-Identifier: Apache-2.0
// prrun -m config.yaml -b backend.yaml: reads and renders the job by prgen's library and starts it where the file says.

#include <iostream>
#include <string_view>
#include <utility>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>

#include "cluster_submit.hpp"
#include "commands/commands.hpp"
#include "rendering.hpp"
#include "submit_files.hpp"
#include "submit_flags.hpp"
#include "submit_here.hpp"

namespace prrun {

using namespace prdist;

namespace {

int submit_to_cluster(SubmitFlags const& flags, Rendering& rendering, gen::Job job) {
  if (flags.dry_run) {
    auto const files = rendering.render(job);
    rendering.tell();
    return plan_on_cluster(flags,
                           {job.spec.job_name.value, job.spec.name_space.value, job.target, gen::manifest(files)});
  }
  auto cluster = flags.cluster;
  cluster.name_space = job.spec.name_space.value;
  Kubectl const kubectl(cluster, process_environment);
  auto const minor = minor_of(kubectl, flags);
  if (minor && *minor != rendering.options().kube_minor) {
    rendering.options().kube_minor = *minor;
    job = rendering.load();
  }
  auto const files = rendering.render(job);
  rendering.tell();
  return create_on_cluster(kubectl, flags,
                           {job.spec.job_name.value, job.spec.name_space.value, job.target, gen::manifest(files)});
}

int submit(SubmitFlags const& flags, Words const& command) {
  Rendering rendering(flags, options_of(flags, command));
  auto job = rendering.load();
  auto const* const target = gen::find_target(job.target);
  if (target != nullptr && target->kubernetes) return submit_to_cluster(flags, rendering, std::move(job));
  if (job.target == "ssh") {
    rendering.tell();
    return submit_ssh(flags, job);
  }
  auto files = rendering.render(job);
  rendering.tell();
  if (job.target == "mpi") return submit_mpi(flags, job, std::move(files));
  if (job.target == "paddlecloud") return submit_paddlecloud(flags, job, files);
  if (job.target == "local") return submit_local(flags, job);
  throw Error(Errc::config_invalid, "submit: prrun does not know how to start a job for '", job.target,
              "': render it by prgen and start it by hand");
}

}  // namespace

int run_submit(Words const& words) {
  SubmitFlags flags;
  Words command;
  if (auto const code = parse_submission(words, flags, command)) return *code;
  auto const failed = [](Errc code, std::string_view text) {
    Error const error(code, text);
    std::cout.flush();
    std::cerr << error.what() << '\n';
    return exit_code(code);
  };
  try {
    return submit(flags, command);
  } catch (FileIsWrong const&) {
    return failed(Errc::config_invalid,
                  concat("submit: ", flags.file, flags.model.empty() ? "" : concat(" or ", flags.model),
                         " is not right, nothing was started: ", "prgen explain CODE says more about a fault"));
  } catch (Error const& error) {
    return failed(error.code(), error.message());
  } catch (gen::IoError const& error) {
    return failed(Errc::config_missing, concat("submit: ", error.what(), ": check the path and its permissions"));
  } catch (gen::TemplateError const& error) {
    return failed(Errc::config_missing, concat("submit: ", error.what(),
                                               ": prgen's templates belong beside prrun, in ../share/prdist/templates; "
                                               "--template_dir names another folder"));
  }
}

}  // namespace prrun
