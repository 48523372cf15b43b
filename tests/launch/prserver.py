#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prserver as its users meet it: real processes, trainers by Paddle v2's environment, loopback only.

    prserver.py BIN_DIR CASE
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

BIN, CASE = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="prdist-prserver-"))
DEADLINE = 100
started = []
daemons = []  # their pid files, which are there while they serve


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "TRAINING_", "PRDIST_"))}
    return kept | {"OPENBLAS_NUM_THREADS": "1"} | {name: str(value) for name, value in more.items()}


def held_ports(count):
    """The first of `count` ports side by side that nobody else takes: they stay bound, without listening."""
    for _ in range(1000):
        held = [socket.socket()]
        try:
            held[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held[0].bind(("127.0.0.1", 0))
            first = held[0].getsockname()[1]
            for port in range(first + 1, first + count):
                held.append(socket.socket())
                held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held[-1].bind(("127.0.0.1", port))
            return first, held
        except (OSError, OverflowError):
            for each in held:
                each.close()
    raise AssertionError("no free ports")


def start(name, *command, **more):
    with open(WORK / f"{name}.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([str(word) for word in command], cwd=WORK, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, env=environment(**more))
    started.append(process)
    return process


def server(name, port, *flags, trainers=2, nics="lo", **more):
    return start(name, BIN / "prserver", "--nics", nics, "--port", port, "--num_gradient_servers", trainers, *flags, **more)


def trainer(index, port, hosts, strategy="async", dense=2, sparse=2, epochs=2, trainers=2, **more):
    return start(f"trainer{index}", BIN / "ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", strategy,
                 "--hidden", "16", "--batch_size", "32", "--epochs", epochs, "--result", "result.json",
                 PADDLE_INIT_USE_GPU="False", PADDLE_INIT_TRAINER_COUNT=1, PADDLE_INIT_PORT=port,
                 PADDLE_INIT_PORTS_NUM=dense, PADDLE_INIT_PORTS_NUM_FOR_SPARSE=sparse,
                 PADDLE_INIT_NUM_GRADIENT_SERVERS=trainers, PADDLE_INIT_TRAINER_ID=index, PADDLE_INIT_PSERVERS=hosts, **more)


def log(name):
    return (WORK / f"{name}.log").read_text(encoding="utf-8")


def expect(condition, *what):
    if condition:
        return
    print(*what)
    for path in sorted(WORK.glob("*.log")):
        print("==", path.name, path.read_text(encoding="utf-8")[-3000:], sep="\n")
    raise AssertionError(CASE)


def says(name, text, process=None):
    """Waits until a log shows a line."""
    end = time.monotonic() + DEADLINE
    while not re.search(text, log(name) if (WORK / f"{name}.log").exists() else ""):
        expect(time.monotonic() < end, f"{name} never said {text}")
        expect(process is None or process.poll() is None or re.search(text, log(name)), f"{name} ended and never said {text}")
        time.sleep(0.02)


def ended(process, code):
    process.wait(timeout=DEADLINE)
    expect(process.returncode == code, process.args, process.returncode, "instead of", code)


def page(port, path):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return json.load(answer)


def plant():
    subprocess.run([BIN / "prdata", "--out", WORK / "data", "--rows", "4000", "--test-rows", "2000", "--files", "4"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=DEADLINE)


def check_ports(ports):
    """Rows by the ports for rows, dense parameters by the others."""
    for port in ports:
        other = "dense" if port["for"] == "sparse" else "sparse"
        expect(port[other]["requests"] == 0 and port[other]["bytes_received"] == 0 and port[other]["bytes_sent"] == 0, ports)


def trains(strategy, *more_flags, told=False):
    plant()
    first, held = held_ports(8)
    hosts = "127.0.0.1,127.0.0.1"
    flags = ["--ports_num", 2, "--ports_num_for_sparse", 2, *more_flags]
    told = {"PADDLE_INIT_PSERVERS": hosts, "PADDLE_INIT_PORT": first} if told else {}
    servers = [server(f"server{i}", first + 4 * i, *flags, **told) for i in range(2)]
    for i, each in enumerate(servers):
        says(f"server{i}", "prserver for 2 trainers" + (f", server {i}" if told else ""), each)
    expect(page(first, "/healthz")["server"] == (0 if told else None))
    trainers = [trainer(i, first, hosts, strategy) for i in range(2)]
    # While they train: every port is there, and each carries its own.
    end = time.monotonic() + DEADLINE
    while servers[1].poll() is None:
        expect(time.monotonic() < end, "no rows came")
        try:
            ports = page(first + 4, "/v1/ports")["ports"]
        except OSError:
            break  # they were quicker
        expect([port["port"] for port in ports] == list(range(first + 4, first + 8)), ports)
        expect([port["for"] for port in ports] == ["dense", "dense", "sparse", "sparse"], ports)
        check_ports(ports)
        if all(port["sparse"]["requests"] > 0 for port in ports[2:]):
            break
    for each in trainers + servers:
        ended(each, 0)
    for i in range(2):
        counted = re.findall(r"port (\d+) for (dense|sparse) parameters: (\d+) control, (\d+) dense, (\d+) sparse requests", log(f"server{i}"))
        expect([int(port) for port, *_ in counted] == list(range(first + 4 * i, first + 4 * i + 4)), counted)
        for _, use, control, dense, sparse in counted:
            expect(int(control) > 0 and (int(sparse) > 0) == (use == "sparse"), counted)
            expect(use == "dense" or int(dense) == 0, counted)
        expect(any(int(dense) > 0 for _, use, _, dense, _ in counted if use == "dense"), counted)
        expect(told or f"server {i}: it is server {i} of 2, says trainer" in log(f"server{i}"))
    with open(WORK / "result.json", encoding="utf-8") as file:
        expect(json.load(file)["auc"] > 0.52)
    return held


def one_port_for_all():
    """A trainer that knows of one port, by today's variables, against the defaults of prserver on all interfaces."""
    plant()
    first, held = held_ports(2)
    serving = server("server0", first, trainers=1, nics="")
    says("server0", "prserver for 1 trainers", serving)
    expect(f"Server listening on all interfaces selected port: {first} for dense parameters" in log("server0"))
    if os.path.exists("/proc/net/if_inet6") and "::1" in [a[4][0] for a in socket.getaddrinfo("localhost", None)]:
        socket.create_connection(("::1", first), timeout=10).close()
    job = start("trainer0", BIN / "ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16", "--batch_size",
                "32", TRAINING_ROLE="TRAINER", PADDLE_PSERVERS_IP_PORT_LIST=f"127.0.0.1:{first}", PADDLE_TRAINERS_NUM=1,
                PADDLE_TRAINER_ID=0)
    ended(job, 0)
    ended(serving, 0)
    return held


def lives(pid):
    """Whether a process that is not our child runs; one that nobody has collected yet does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


def daemon():
    plant()
    first, held = held_ports(2)
    command = [BIN / "prserver", "--nics=lo", f"--port={first}", "--num-gradient-servers=1", "--daemon", "--log", "d.log",
               "--pid-file", "d.pid"]
    # A descriptor of whoever starts it, as a shell's lock file: the daemon must not keep it.
    pipe = os.pipe()
    run = lambda: subprocess.run(command, cwd=WORK, env=environment(), text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=pipe)
    begun = run()
    expect(begun.returncode == 0, begun)
    daemons.append(WORK / "d.pid")
    pid = int(re.fullmatch(r"prserver: process (\d+) serves, log d.log\n", begun.stdout)[1])
    expect((WORK / "d.pid").read_text() == f"{pid}\n")
    expect(os.getsid(pid) != os.getsid(0))
    kept = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    expect(os.readlink(f"/proc/self/fd/{pipe[0]}") not in kept.values(), kept)
    expect(page(first, "/healthz")["status"] == "ok", "it listens when the command has returned")
    again = run()
    expect(again.returncode == 78 and "is in use by another process" in again.stderr and again.stdout == "", again)
    expect(lives(pid), "the first goes on")
    others, more_held = held_ports(2)
    command[2] = f"--port={others}"
    again = run()
    expect(again.returncode == 78 and again.stdout == "", again)
    expect(f"prdist[config.contradiction] --pid_file 'd.pid' is held by process {pid}, which runs" in again.stderr, again)
    expect((WORK / "d.pid").read_text() == f"{pid}\n")
    ended(trainer(0, first, "127.0.0.1", dense=1, sparse=1, trainers=1), 0)
    end = time.monotonic() + DEADLINE
    while lives(pid):
        expect(time.monotonic() < end, "the daemon does not end")
        time.sleep(0.02)
    expect("all 1 trainers have stopped" in log("d"))
    expect(not (WORK / "d.pid").exists())
    command[-3] = "nowhere/d.log"
    wrong = run()
    expect(wrong.returncode == 78 and "log 'nowhere/d.log' cannot be written: No such file or directory" in wrong.stderr, wrong)
    return held + more_held


def lost_trainer():
    """One of two is killed in the middle of a sync job: everybody ends, with 75 and its name."""
    plant()
    first, held = held_ports(4)
    serving = server("server0", first, "--ports_num", 2, "--ports_num_for_sparse", 2)
    jobs = [trainer(i, first, "127.0.0.1", "sync", epochs=100000) for i in range(2)]
    says("server0", "trainer 0 connected", serving)
    says("server0", "trainer 1 connected", serving)
    end = time.monotonic() + DEADLINE
    while not all(port["sparse"]["requests"] > 10 for port in page(first, "/v1/ports")["ports"][2:]):
        expect(time.monotonic() < end, "they do not train")
        time.sleep(0.02)
    os.kill(jobs[1].pid, signal.SIGKILL)
    ended(jobs[0], 75)
    ended(serving, 75)
    expect("trainer 1 is lost" in log("server0") and "trainer 1 is lost" in log("trainer0"))
    return held


def stopped():
    """SIGTERM: before anybody has come at once, later when the trainers have saved."""
    plant()
    first, held = held_ports(2)
    early = server("early", first, trainers=1)
    says("early", "prserver for", early)
    early.terminate()
    ended(early, 143)
    expect("the server was asked to stop by SIGTERM before any trainer has come" in log("early"))
    serving = server("server0", first, trainers=1)
    job = start("trainer0", BIN / "ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16", "--batch_size",
                "32", "--epochs", "100000", "--save_dir", "ckpt", PADDLE_INIT_PORT=first, PADDLE_INIT_PSERVERS="127.0.0.1")
    says("server0", "trainer 0 connected", serving)
    while page(first, "/v1/ports")["ports"][1]["sparse"]["requests"] < 20:
        expect(job.poll() is None, "it does not train")
    serving.terminate()
    ended(job, 143)
    ended(serving, 143)
    expect(list((WORK / "ckpt").glob("pass-*/done")), "nothing was saved")
    nobody = server("nobody", first, trainers=1, PRDIST_WAIT_WORKERS=1)
    ended(nobody, 75)
    expect("none of 1 trainers has come within 1 s: giving up" in log("nobody"))
    return held


def contradictions():
    """Ports, numbers and order that do not fit are said on both sides, and end the trainer with 78."""
    plant()
    first, held = held_ports(4)
    serving = server("server0", first, "--ports_num", 2, "--ports_num_for_sparse", 1, "--server_id", 0, "--pservers", "127.0.0.1")
    says("server0", "prserver for 2 trainers, server 0", serving)
    wrong_ports = trainer(0, first, "127.0.0.1", dense=1, sparse=2)
    ended(wrong_ports, 78)
    text = "takes this for port 0 of 1 dense and 2 sparse ports, but it is 0 of 2 dense and 1 sparse ports"
    expect(text in log("trainer0") and text in log("server0"))
    ended(trainer(0, first, "127.0.0.1", dense=2, sparse=1, trainers=3), 78)
    expect("knows of 3 trainers, server 0 of 2" in log("trainer0"))
    ended(trainer(0, first, "127.0.0.1,127.0.0.1", dense=2, sparse=1), 78)
    expect("takes this for server 0 of 2, but it is 0 of 1" in log("trainer0"))
    expect(serving.poll() is None, "it goes on after them")
    serving.send_signal(signal.SIGKILL)
    serving.wait(timeout=DEADLINE)
    return held


def flags():
    """What is wrong on the command line, and what is Paddle's alone."""
    first, held = held_ports(2)

    def run(*words, **more):
        return subprocess.run([str(BIN / "prserver"), *map(str, words)], cwd=WORK, env=environment(PRDIST_WAIT_WORKERS=1, **more),
                              text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def refused(code, text, *words, **more):
        result = run(*words, **more)
        expect(result.returncode == code and text in result.stderr, result)

    refused(64, "'0' is not a number from 1 to 65535", "--port", 0)
    refused(64, "--ports_numm", "--ports_numm", 1)
    refused(64, "beast", "--transport", "rdma")
    refused(78, "there is no interface 'xgbe0' on this machine; there are", "--nics", "xgbe0", "--port", first)
    refused(78, "PADDLE_INIT_PORT='x': a number from 1 to 65535 is expected", PADDLE_INIT_PORT="x")
    refused(78, "go beyond 65535: begin lower with --port", "--port", 65535)
    refused(78, "--server_id 2 but --pservers='127.0.0.1,127.0.0.1' has 2 servers: ids run from 0 to 1", "--server_id", 2,
            "--pservers", "127.0.0.1,127.0.0.1", "--port", first)
    refused(78, "has a port: hosts stand there alone", "--pservers", "a:1", "--port", first)
    refused(78, "--pid_file 'nowhere/pid' cannot be written", "--nics", "lo", "--port", first, "--pid_file", "nowhere/pid")
    # As start_paddle.py and start_mpi_train.sh call it; nobody comes within the second.
    paddles = run(f"-port={first}", "--ports_num=1", "--ports_num_for_sparse=1", "--nics=lo", "--comment=paddle_process_by_paddle",
                  "--rdma_tcp", "tcp", "--nouse_gpu", "--num_gradient_servers=1", PADDLE_INIT_PORT=first + 1,
                  PADDLE_INIT_NICS="xgbe0")
    expect(paddles.returncode == 75, paddles)
    expect("of Paddle alone, without effect here: --comment, --rdma_tcp, --nouse_gpu\n" in paddles.stderr, paddles)
    expect(paddles.stderr.count("goes before") == 2, paddles)
    expect(f"--port {first} goes before PADDLE_INIT_PORT={first + 1}" in paddles.stderr, paddles)
    expect(f"Server listening on 127.0.0.1" in paddles.stderr and f"selected port: {first + 1} for sparse parameters" in paddles.stderr, paddles)
    by_environment = run(PADDLE_INIT_PORT=first, PADDLE_INIT_PORTS_NUM=1, PADDLE_INIT_PORTS_NUM_FOR_SPARSE=0, PADDLE_INIT_NICS="lo",
                         PADDLE_INIT_NUM_GRADIENT_SERVERS=3)
    expect(by_environment.returncode == 75 and "prserver for 3 trainers" in by_environment.stderr, by_environment)
    expect("goes before" not in by_environment.stderr and "for sparse" not in by_environment.stderr, by_environment)
    help_text = run("--help")
    expect(help_text.returncode == 0 and help_text.stdout.startswith("Examples:"), help_text)
    return held


CASES = {
    "async": lambda: trains("async"),
    "sync": lambda: trains("sync"),
    "geo": lambda: trains("geo"),
    "told": lambda: trains("async", told=True),
    "one_port_for_all": one_port_for_all,
    "daemon": daemon,
    "lost_trainer": lost_trainer,
    "stopped": stopped,
    "contradictions": contradictions,
    "flags": flags,
}

try:
    kept = CASES[CASE]()
finally:
    for each in started:
        if each.poll() is None:
            each.kill()
            each.wait()
    for each in daemons:
        if each.exists():
            os.kill(int(each.read_text()), signal.SIGKILL)
shutil.rmtree(WORK)  # a test that failed leaves it to look at
