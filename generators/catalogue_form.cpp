// SPDX-License-Identifier: Apache-2.0
#include "catalogue_parts.hpp"

namespace prdist::gen {

namespace {

constexpr CodeEntry entries[] = {
    {"PR001", "The file is not YAML",
     "The reader stopped at the place shown. Most often a line is indented too little or too much, a tab "
     "stands where blanks should, a quote is not closed, or a value holds ': ' without quotes around it.",
     R"y(engine:
  backend: k8s
  job_name: "ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR002", "The file is not UTF-8 text",
     "Files are read as UTF-8. A NUL, or a byte of another encoding such as GBK, cannot become part of a "
     "manifest.",
     R"y(engine:
  backend: k8s
  job_name: "ctr\0"
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR003", "The file is too large or too deep",
     "A job description has some dozens of values, a few levels deep. Larger files, deeper nesting, or "
     "aliases that multiply are refused before they cost memory.",
     R"y(engine: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR004", "A key stands twice",
     "Readers of YAML disagree which of two equal keys counts, so neither does. Files of PaddleRec that "
     "repeat a key for each kind of cluster are read with --duplicate-keys=last. Two spellings of one key "
     "count as the same key.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 4Gi
    memory: 8Gi
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 8Gi
)y"},
    {"PR005", "A feature of YAML that is not read here",
     "Tags, merge keys, keys that are not words, and a second document in one file have no meaning in a "
     "job description.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: !bytes 4Gi
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 4Gi
)y"},
    {"PR006", "An unknown key",
     "A key that nobody reads is most often misspelt or indented to a wrong level; the original ignored it "
     "and went on without the value.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memroy: 4Gi
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 4Gi
)y"},
    {"PR007", "A value of the wrong kind",
     "The key takes one value, a number, a list or a map, and something else stands there.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: two
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR008", "Something is missing",
     "The job cannot be described without it, and there is no default that would be right.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR009", "A word that is not known here", "The key takes one of a few words.",
     R"y(engine:
  backend: k9s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR010", "A number out of range", "The number is smaller or larger than anything that works.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 0
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR011", "A name that Kubernetes does not take",
     "Names of objects become host names: lower-case letters, digits and '-', a letter first. The name "
     "that PaddleRec ships as its example, PaddleRec_CTR, is refused by every cluster.",
     R"y(engine:
  backend: k8s
  job_name: PaddleRec_CTR
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: paddlerec-ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR012", "Not a quantity",
     "Quantities are a number and a suffix: Ki, Mi, Gi, Ti for powers of 1024, k, M, G, T for powers of "
     "1000, m for thousandths. There is no B in them.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 4GiB
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 4Gi
)y"},
    {"PR013", "Not an image reference",
     "An image is registry/name:tag or registry/name@sha256:digest. The name is lower case.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/CTR:1.0
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
)y"},
    {"PR014", "A limit below the request",
     "--profile legacy asks for one core, 1Gi of memory and 1Gi of storage whatever the file says. With a "
     "lower limit the job is accepted and then hangs for ever.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 512Mi
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    memory: 2Gi
)y",
     "--profile legacy"},
    {"PR015", "A port that cannot be used",
     "Ports end at 65535, and those below 1024 need root, which pods of the default profile are not.",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    port: 80
)y",
     R"y(engine:
  backend: k8s
  job_name: ctr
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
    port: 30240
)y"},
};

}  // namespace

std::span<CodeEntry const> form_codes() {
  return entries;
}

}  // namespace prdist::gen
