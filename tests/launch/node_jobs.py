#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole jobs whose members are started apart, as pods and ranks are: each by a prrun of its own, over sockets. What is
not installed is named, and the test is skipped then.

    node_jobs.py BIN_DIR pods|mpirun|rendered|two_nodes|two_nodes_etcd
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

SKIPPED = 77
DEADLINE = 100
BIN = pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(tempfile.mkdtemp(prefix="prdist-nodes-"))
TRAIN = [BIN / "ctr_dnn", "--train", WORK / "data/train", "--test", WORK / "data/test", "--hidden", "16",
         "--batch_size", "32", "--epochs", "2", "--result", WORK / "result.json"]


def plant():
    subprocess.run([BIN / "prdata", "--out", WORK / "data", "--rows", "4000", "--test-rows", "2000", "--files", "4"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=DEADLINE)


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "TRAINING_", "OMPI_"))}
    return kept | {"OPENBLAS_NUM_THREADS": "1"} | more


def held_port(hosts):
    """A port that nobody else takes: it stays bound on each host, without listening, while the test runs."""
    while True:
        held = [socket.socket() for _ in hosts]
        try:
            for each, host in zip(held, hosts):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                each.bind((host, held[0].getsockname()[1] if each is not held[0] else 0))
            return held[0].getsockname()[1], held
        except OSError:
            for each in held:
                each.close()


def trained(outputs):
    result = json.loads((WORK / "result.json").read_text(encoding="utf-8"))
    if result["auc"] <= 0.52:
        print(*outputs, result, sep="\n")
        return 1
    return 0


def run_pods():
    """An Indexed Job of prgen's: two servers and two trainers, each in a pod of its own, which a probe finds alive."""
    plant()
    hosts = ["127.0.0.1", "127.0.0.2"]
    port, held = held_port(hosts)
    common = {"JOB_NAME": "ctr", "JOB_PATH": str(WORK), "PADDLE_PSERVERS_NUM": "2", "PADDLE_TRAINERS_NUM": "2",
              "PADDLE_PORT": str(port), "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(f"{host}:{port}" for host in hosts)}
    pods = []
    for index in range(4):
        (WORK / f"tmp{index}").mkdir()
        pods.append(environment(JOB_COMPLETION_INDEX=str(index), POD_IP=hosts[index % 2], TMPDIR=str(WORK / f"tmp{index}"),
                                PRDIST_TERMINATION_LOG=str(WORK / f"cause{index}"), **common))
    # The servers first, and the trainers when a probe says that they serve: its answer is what is waited for.
    start = [BIN / "prrun", "k8s", "--", *TRAIN]
    running = [subprocess.Popen(start, env=pod, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for pod in pods[:2]]
    for pod in pods[:2]:
        for _ in range(1000):
            probe = subprocess.run([BIN / "prrun", "probe"], env=pod, capture_output=True, text=True, check=False, timeout=DEADLINE)
            if probe.returncode == 0:
                break
        if probe.stdout != f"server {pod['POD_IP']}:{port} serves\n":
            print("probe:", probe)
            return 1
    running += [subprocess.Popen(start, env=pod, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for pod in pods[2:]]
    outputs = [each.communicate(timeout=DEADLINE)[0] for each in running]
    codes = [each.returncode for each in running]
    for each in held:
        each.close()
    if codes != [0, 0, 0, 0]:
        print(codes, *outputs, sep="\n")
        return 1
    for name in ["node_0/server.log", "node_1/server.log", "node_0/train.log", "node_1/train.log"]:
        if not (WORK / "ctr/output" / name).read_text(encoding="utf-8"):
            print(name, "is empty")
            return 1
    return trained(outputs)


def run_mpirun():
    if shutil.which("mpirun") is None:
        print("skipped: mpirun is not installed (Debian: openmpi-bin)")
        return SKIPPED
    plant()
    port, held = held_port(["127.0.0.1"])
    ran = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", BIN / "prrun", "mpi", "--port", str(port), "--", *TRAIN],
                         cwd=WORK, env=environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=DEADLINE)
    for each in held:
        each.close()
    if ran.returncode != 0:
        print(ran.returncode, ran.stdout)
        return 1
    return trained([ran.stdout])


def run_rendered():
    """prgen's own scripts for mpirun, which start prrun mpi; the server never ends by itself."""
    for needed in ["mpirun", str(BIN / "prgen")]:
        if shutil.which(needed) is None:
            print(f"skipped: there is no {needed}")
            return SKIPPED
    (WORK / "backend.yaml").write_text("""engine:
  backend: mpi
  job_name: three
  command: [sh, -c, 'echo $TRAINING_ROLE $PADDLE_PSERVERS_IP_PORT_LIST; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000']
  submit: {server_num: 1, trainer_num: 2, hosts: [localhost], port: 7164}
""", encoding="utf-8")
    subprocess.run([BIN / "prgen", "-q", WORK / "backend.yaml", "-o", "files", "-O", WORK / "job"], check=True)
    started = environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PATH=f"{BIN}:{os.environ['PATH']}")
    ran = subprocess.run([WORK / "job/run.sh", "--oversubscribe"], env=started, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False, timeout=DEADLINE)
    logs = {name: (WORK / "job/log" / name).read_text(encoding="utf-8")
            for name in ["node_0/server.log", "node_0/train.log", "node_1/train.log"]}
    if ran.returncode != 0 or list(logs.values()) != ["PSERVER localhost:7164\n", *2 * ["TRAINER localhost:7164\n"]]:
        print(ran.returncode, ran.stdout, logs)
        return 1
    return 0


def run_nodes(master):
    """A job whose two nodes meet at `master`; each runs a server and two trainers on an address of its own."""
    running = []
    for rank, host in enumerate(["127.0.0.1", "127.0.0.2"]):
        (WORK / host).mkdir()
        start = [BIN / "prrun", "--nnodes", "2", "--master", master, "--host", host, "--rank", str(rank), "--server_num", "1",
                 "--trainer_num", "2", "--json", "report.json", "--", *TRAIN, "--strategy", "sync"]
        running.append(subprocess.Popen(start, cwd=WORK / host, env=environment(), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True))
    outputs = [each.communicate(timeout=DEADLINE)[0] for each in running]
    if [each.returncode for each in running] != [0, 0]:
        print(*outputs, sep="\n")
        return 1
    for host, ids in [("127.0.0.1", {"server": [0], "trainer": [0, 1]}), ("127.0.0.2", {"server": [1], "trainer": [2, 3]})]:
        members = json.loads((WORK / host / "report.json").read_text(encoding="utf-8"))["members"]
        if {role: [each["index"] for each in members if each["role"] == role] for role in ids} != ids:
            print(host, members)
            return 1
    return trained(outputs)


def run_two_nodes():
    plant()
    port, held = held_port(["127.0.0.1"])
    code = run_nodes(f"127.0.0.1:{port}")
    for each in held:
        each.close()
    return code


def run_two_nodes_etcd():
    if shutil.which("etcd") is None:
        print("skipped: etcd is not installed (Debian: etcd-server)")
        return SKIPPED
    plant()
    ports = [held_port(["127.0.0.1"]) for _ in range(2)]
    clients, peers = [f"http://127.0.0.1:{port}" for port, _ in ports]
    with open(WORK / "etcd.log", "w", encoding="utf-8") as log:
        etcd = subprocess.Popen(["etcd", "--data-dir", WORK / "etcd", "--listen-client-urls", clients, "--advertise-client-urls",
                                 clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                                 "--initial-cluster", f"default={peers}"], stdout=log, stderr=log)
    try:
        # The nodes wait until it answers.
        return run_nodes("etcd" + clients.removeprefix("http"))
    finally:
        etcd.kill()
        etcd.wait()


if __name__ == "__main__":
    try:
        sys.exit(globals()["run_" + sys.argv[2]]())
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
