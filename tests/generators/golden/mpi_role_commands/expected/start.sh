#!/bin/sh
# One rank of the job: finds its role and its peers and becomes the program. Ranks go round the machines, servers first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
machines=${1:-$here/machines}
servers=3
trainers=3
port=7164
width=2 # ports of one server

rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-}}}}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}
if [ -z "$rank" ] || [ -z "$size" ]; then
  echo "start.sh: no rank in the environment: start it by run.sh" >&2
  exit 64
fi
if [ "$size" -ne "$((servers + trainers))" ]; then
  echo "start.sh: $size ranks, but $servers servers and $trainers trainers are wanted" >&2
  exit 64
fi

# Host names, each once, whatever the flavour of the file.
hosts=$(awk '!/^[ \t]*(#|$)/ { host = $1; sub(/:.*/, "", host); if (!seen[host]++) print host }' "$machines")
set -f
# shellcheck disable=SC2086 # one host per word
set -- $hosts
count=$#
if [ "$count" -eq 0 ]; then
  echo "start.sh: $machines names no host" >&2
  exit 78
fi

endpoints=
addresses=
i=0
while [ "$i" -lt "$((servers > 0 ? servers : trainers))" ]; do
  eval "host=\${$((i % count + 1))}"
  # shellcheck disable=SC2154 # eval sets it
  endpoints=$endpoints${endpoints:+,}$host:$((port + width * (i / count)))
  addresses=$addresses${addresses:+,}$host
  i=$((i + 1))
done

if [ "$((port + ((i - 1) / count + 1) * width - 1))" -gt 65535 ]; then
  echo "start.sh: $i processes on $count hosts need ports beyond 65535: begin lower, or add hosts" >&2
  exit 78
fi

export PADDLE_TRAINERS_NUM="$trainers"
if [ "$servers" -gt 0 ]; then
  export PADDLE_PSERVERS_NUM="$servers" PADDLE_PSERVERS_IP_PORT_LIST="$endpoints"
else
  export PADDLE_TRAINER_ENDPOINTS="$endpoints"
fi
if [ "$rank" -lt "$servers" ]; then
  eval "POD_IP=\${$((rank % count + 1))}"
  export TRAINING_ROLE=PSERVER PADDLE_PSERVER_ID="$rank" PADDLE_PORT="$((port + width * (rank / count)))" POD_IP
else
  export TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID="$((rank - servers))" PADDLE_INIT_TRAINER_ID="$((rank - servers))"
fi
# What programs of Paddle v2 read.
export PADDLE_INIT_PORT="$port" PADDLE_INIT_PORTS_NUM=1 \
  PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1 PADDLE_INIT_NICS=eth0 \
  PADDLE_INIT_NUM_GRADIENT_SERVERS="$trainers" PADDLE_INIT_PSERVERS="$addresses" PADDLE_INIT_USE_GPU=False \
  PADDLE_CLUSTER_TRAIN=True

export JOB_NAME=word2vec JOB_PATH=/home/jobpath
export PRDIST_CONFIG="${PRDIST_CONFIG:-$here/config.yaml}"
cd "$here"
# The job's own variables are set for the program alone: none of them can change what this script does.
if [ "$rank" -lt "$servers" ]; then
  exec env \
    GLOG_v=0 \
    GLOG_logtostderr=1 \
    TRAIN_CONFIG_DIR=word2vec \
    paddle pserver '--port='"${PADDLE_PORT-\$(PADDLE_PORT)}" '--num_gradient_servers='"${PADDLE_TRAINERS_NUM-\$(PADDLE_TRAINERS_NUM)}"
fi
exec env \
  GLOG_v=0 \
  GLOG_logtostderr=1 \
  TRAIN_CONFIG_DIR=word2vec \
  python train.py
