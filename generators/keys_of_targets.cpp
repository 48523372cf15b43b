// SPDX-License-Identifier: Apache-2.0
// Keys that are one target's own.
#include "key_rows.hpp"

namespace prdist::gen {

namespace {

using J = JobSpec;

Topic paddlejob() {
  return {
      "Only paddlejob",
      {choice("submit.paddlejob_api", &J::paddlejob_api, "batch.paddlepaddle.org kubeflow.org", "whose PaddleJob it is",
              "paddlejob", "batch.paddlepaddle.org"),
       number("submit.with_gloo", &J::with_gloo, 0, 2, "0 none, 1 trainers, 2 trainers and servers", "paddlejob", "0"),
       choice("submit.intranet", &J::intranet, "PodIP Service Host", "how pods of a PaddleJob reach each other",
              "paddlejob", "PodIP"),
       choice("submit.clean_pod_policy", &J::clean_pod_policy, "Always Never OnFailure OnCompletion",
              "when the pods of an ended PaddleJob are removed", "paddlejob", "OnCompletion")}};
}

Topic paddle_v2() {
  return {"Paddle v2 (with train_config_dir) and mpi",
          {row(Rule::text, "submit.nics", &J::nics, "network device", with_images, "eth0"),
           number("submit.ports_num", &J::ports_num, 1, 64, "ports for dense parameters", with_images, "1"),
           number("submit.ports_num_for_sparse", &J::ports_num_for_sparse, 0, 64, "ports for sparse parameters",
                  with_images, "1 with mpi and Paddle v2, else 0")}};
}

Topic mpi() {
  return {
      "Only mpi",
      {row(Rule::list, "submit.hosts", &J::hosts, "machines, in the order of their ranks", "mpi",
           "$PBS_NODEFILE, or the file machines"),
       number("submit.slots", &J::slots, 1, 1024, "processes that one machine takes", "mpi", "as many as are needed"),
       choice("submit.mpi", &J::mpi, "openmpi intel mpich", "the MPI whose mpirun starts the job", "mpi", "openmpi"),
       number("submit.nodes", &J::nodes, 1, 65536, "machines to ask the batch system for", "mpi paddlecloud",
              "with mpi as server_num, with paddlecloud 1"),
       row(Rule::flag, "submit.test_cluster", &J::test_cluster, "also write the pods of a small OpenMPI test cluster",
           "mpi", "false"),
       row(Rule::text, "submit.hpc", &J::hpc, "folder of the batch system's client, whose bin/qsub_f submits", "mpi"),
       row(Rule::text, "submit.qconf", &J::qconf, "configuration file for qsub_f", "mpi"),
       row(Rule::text, "package.build_script", &J::package_build_script, "script that builds the package", "mpi"),
       row(Rule::text, "package.python", &J::package_python, "Python to send along", "mpi"),
       row(Rule::text, "package.paddlerec", &J::package_paddlerec, "wheel to send along", "mpi"),
       row(Rule::text, "submit_script", &J::submit_script, "shell file of the original's submission hooks",
           "mpi paddlecloud"),
       row(Rule::text, "job_script", &J::job_script, "shell file that the original ran on the nodes", "mpi")}};
}

Topic paddlecloud() {
  constexpr std::string_view cloud = "paddlecloud";
  return {
      "Only paddlecloud; the defaults are PaddleRec's",
      {choice("submit.cluster_type", &J::cluster_type, "mpi k8s", "kind of the PaddleCloud cluster", cloud),
       row(Rule::secret, "submit.ak", &J::ak, "access key: set PADDLECLOUD_AK instead", cloud),
       row(Rule::secret, "submit.sk", &J::sk, "secret key: set PADDLECLOUD_SK instead", cloud),
       row(Rule::text, "submit.version", &J::version, "version of the PaddleCloud job", cloud, "paddle-fluid-v1.7.1"),
       row(Rule::text, "submit.priority", &J::priority, "normal, high or very_high", cloud, "high"),
       row(Rule::text, "submit.group", &J::group, "PaddleCloud group", cloud, "paddle"),
       row(Rule::text, "submit.cluster", &J::cluster, "PaddleCloud cluster", cloud, "that of the group"),
       row(Rule::text, "submit.config", &J::job_conf, "a job configuration of your own instead of config.ini", cloud),
       row(Rule::text, "submit.files", &J::files, "files to send along, patterns parted by blanks", cloud),
       row(Rule::text, "submit.start_cmd", &J::start_cmd, "shell line that starts training on the platform", cloud,
           "python -m paddlerec.run -m config.yaml"),
       row(Rule::text, "fs.name", &J::fs_name, "file system of the job", "paddlecloud mpi"),
       row(Rule::secret, "fs.ugi", &J::fs_ugi, "user and password of the file system: set FS_UGI instead",
           "paddlecloud mpi"),
       row(Rule::text, "fs.output", &J::fs_output, "where the output goes", "paddlecloud mpi"),
       row(Rule::text, "fs.train_data", &J::train_data, "training data", cloud),
       row(Rule::text, "fs.test_data", &J::test_data, "test data", cloud),
       row(Rule::text, "fs.thirdparty", &J::thirdparty, "further files", cloud),
       row(Rule::text, "fs.afs_mount", &J::afs_mount, "folder that PaddleCloud mounts at ./afs", cloud),
       row(Rule::text, "paddle_version", &J::paddle_version, "Paddle that the hook installs", cloud, "1.7.2"),
       row(Rule::flag, "use_python3", &J::use_python3, "python3 on the platform", cloud, "false"),
       row(Rule::text, "before_hook", &J::before_hook, "a hook of your own, run before training", cloud),
       row(Rule::text, "end_hook", &J::end_hook, "a hook of your own, run after training", cloud),
       row(Rule::map, "communicator", &J::communicator, "FLAGS_ of Paddle's communicator", cloud)}};
}

}  // namespace

std::vector<Topic> target_keys() {
  return {paddlejob(), paddle_v2(), mpi(), paddlecloud()};
}

}  // namespace prdist::gen
