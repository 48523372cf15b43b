// SPDX-License-Identifier: Apache-2.0
#include "catalogue_parts.hpp"

namespace prdist::gen {

namespace {

constexpr CodeEntry entries[] = {
    {"PR016", "A name that gets too long",
     "Pods are named after the job, their role and their index, and a host name has at most 63 characters. "
     "Names are never cut: two jobs could end up with one name.",
     R"y(engine:
  backend: k8s
  job_name: ctr-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR017", "A secret in the clear",
     "Manifests are stored, printed and shared. Values from Secrets are named by submit.secrets; keys of "
     "PaddleCloud and passwords of file systems are read from the environment when the job is submitted.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    env:
      MYSQL_PASSWORD: hunter2
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    secrets:
    - env: MYSQL_PASSWORD
      secret: mysql
      key: password
)y"},
    {"PR018", "More rights than usual",
     "Paths of the node and root are refused in namespaces that enforce Pod Security, and risky in others.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    volumes:
    - name: data
      mount: /home/jobpath
      host_path: /home/work/mfs
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    volumes:
    - name: data
      mount: /home/jobpath
      pvc: training-data
)y",
     "", false},
    {"PR019", "An image without a version",
     "The tag latest, and no tag at all, mean what the registry holds at the moment a pod starts: pods of "
     "one job may then run different programs.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:latest
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     "", false},
    {"PR020", "Not the name of a variable", "Variables are letters, digits and '_', and do not begin with a digit.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    env:
      2FAST: "1"
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    env:
      TWO_FAST: "1"
)y"},
    {"PR021", "A path that cannot be mounted",
     "Mounts are absolute paths without '..' and without ':', and not the root itself.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    volumes:
    - name: data
      mount: data
      pvc: training-data
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    volumes:
    - name: data
      mount: /data
      pvc: training-data
)y"},
    {"PR022", "A key that this target does not look at",
     "The key is known, but means nothing for the cluster that the file names.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    with_gloo: 1
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     "", false},
    {"PR023", "Two things that contradict each other", "Each is fine alone; together they cannot be.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  mode: collective
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  mode: collective
  submit:
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR024", "An old spelling",
     "PaddleRec's document explains worker_num and mermory, and its example writes trainer_num and memory. "
     "Both are read; the example's are the ones to write.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    mermory: 4Gi
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 4Gi
)y",
     "", false},
    {"PR025", "Not a backend.yaml",
     "The file is YAML, but of another kind: a manifest that is rendered already, or the config.yaml of a "
     "model, which goes behind -m.",
     R"y(apiVersion: v1
kind: Pod
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR027", "A cluster that is too old", "--kube-version names a version that lacks what the job cannot do without.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: volcano
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     "--kube-version 1.20"},
    {"PR028", "Not a host",
     "Hosts are names or addresses, each once. A name that begins with '-' would be taken for an option by "
     "ssh and mpirun.",
     R"y(engine:
  backend: mpi
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    hosts: [node1, -oProxyCommand=id]
)y",
     R"y(engine:
  backend: mpi
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    hosts: [node1, node2]
)y"},
    {"PR029", "An amount that cannot be meant",
     "100m of memory is a tenth of a byte, for m means thousandths, and 4 is four bytes. Mi are megabytes, Gi "
     "gigabytes.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 100m
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 100Mi
)y"},
};

}  // namespace

std::span<CodeEntry const> meaning_codes() {
  return entries;
}

}  // namespace prdist::gen
