// SPDX-License-Identifier: Apache-2.0
// A job as every dialect of backend.yaml and every target understand it. Each value knows whether the user gave it and
// where; defaults are filled in by the checks, so that a target reads plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source.hpp"

namespace prdist::gen {

struct Text {
  std::string value{};
  bool given = false;
  Where where{};
};

struct Number {
  std::int64_t value = 0;
  bool given = false;
  Where where{};
};

struct TextList {
  std::vector<Text> items{};
  bool given = false;
  Where where{};
};

struct TextMap {
  std::vector<std::pair<Text, Text>> items{};
  bool given = false;
  Where where{};

  /// The value of `key`, or an empty one that was not given.
  [[nodiscard]] Text get(std::string_view key) const {
    for (auto const& [name, value] : items) {
      if (name.value == key) return value;
    }
    return {};
  }
};

/// A list of small maps, such as volumes.
struct Records {
  std::vector<TextMap> items{};
  bool given = false;
  Where where{};
};

/// What config.yaml says about a distributed run.
struct ModelConfig {
  SourcePtr source{};  ///< none when -m was not given
  Number threads{};
  Text strategy{};    ///< sync, async, half_async, geo, ...
  Text device{};      ///< cpu or gpu
  Text fleet_mode{};  ///< ps, pslib or collective
};

struct JobSpec {
  SourcePtr source{};
  std::string dialect{};  ///< engine, flat or mpi2020
  Where root{};           ///< where a key that is missing would have to stand
  Where submit{};         ///< the same, for keys below submit; no line when there is no such level

  Text backend{}, job_name{}, workspace{}, name_space{}, mode{}, launcher{}, job_path{}, train_config_dir{};
  TextList command{}, server_command{}, trainer_command{};

  Number server_num{}, trainer_num{}, log_level{}, gpus{}, port{}, ports_num{}, ports_num_for_sparse{};
  Text image{}, memory{}, storage{}, cpu{}, gpu_resource{}, nics{};
  Text server_cpu{}, server_memory{}, server_storage{}, trainer_cpu{}, trainer_memory{}, trainer_storage{};
  Text cpu_limit{}, server_cpu_limit{}, trainer_cpu_limit{};
  Number elastic_min{}, elastic_max{}, max_restart{}, grace{}, ttl{}, time_limit{};
  Text queue{}, scheduler{}, service_account{}, discovery{};
  TextList image_pull_secrets{}, hosts{};
  TextMap env{}, node_selector{}, labels{}, annotations{};
  Text image_pull_policy{}, workdir{}, priority_class{}, writable_root{}, network_policy{};
  Number run_as_user{}, run_as_group{};
  Records secrets{}, volumes{}, tolerations{};

  Number with_gloo{};
  Text intranet{}, clean_pod_policy{}, paddlejob_api{};

  Number slots{};
  Text mpi{}, hpc{}, qconf{}, test_cluster{};
  Text package_build_script{}, package_python{}, package_paddlerec{}, submit_script{}, job_script{};

  Text cluster_type{}, ak{}, sk{}, version{}, priority{}, group{}, cluster{}, job_conf{}, files{}, start_cmd{};
  Number nodes{};
  Text fs_name{}, fs_ugi{}, fs_output{}, train_data{}, test_data{}, thirdparty{}, afs_mount{};
  Text paddle_version{}, use_python3{}, before_hook{}, end_hook{};
  TextMap communicator{};

  ModelConfig model{};

  /// The words that a role runs; none where the program is the image's own, or prtrain by default.
  [[nodiscard]] TextList const& command_of_servers() const { return server_command.given ? server_command : command; }
  [[nodiscard]] TextList const& command_of_trainers() const {
    return trainer_command.given ? trainer_command : command;
  }
  [[nodiscard]] std::int64_t pods() const { return server_num.value + trainer_num.value; }
  [[nodiscard]] bool collective() const { return mode.value == "collective"; }
  [[nodiscard]] bool parameter_servers() const { return mode.value == "ps"; }
  /// Whether the file speaks of Paddle's v2 clusters, in which every node runs a server and a trainer.
  [[nodiscard]] bool v2_cluster() const { return train_config_dir.given; }
  /// Whether that holds for the pods as well: it does unless the file counts servers of their own.
  [[nodiscard]] bool every_pod_is_both() const { return v2_cluster() && parameter_servers() && !server_num.given; }
};

}  // namespace prdist::gen
