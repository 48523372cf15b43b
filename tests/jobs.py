#!/usr/bin/env python3
"""Real jobs: processes under prrun, over sockets, killed in the middle. Usage: jobs.py BIN_DIR CASE"""
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import job_setup

BIN, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
WORK = tempfile.mkdtemp(prefix="prdist-jobs-")
DEADLINE = 250
# Two runs of 4,000 rows and 24 epochs or more differ by .004.
AUC_NOISE = 0.015


def program(name):
    return os.path.join(BIN, name)


def plant(**sizes):
    job_setup.plant(BIN, WORK, **sizes)


def start(*arguments, servers=2, trainers=2, flags=(), environment=None):
    for name in glob.glob(os.path.join(WORK, "log", "progress.*")):
        os.remove(name)  # of the job before
    command = [program("prrun"), "--server_num", str(servers), "--trainer_num", str(trainers), "--log_dir", "log",
               "--json", "report.json", *flags, "--", *arguments]
    return subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})})


def finish(job):
    output, _ = job.communicate(timeout=DEADLINE)
    return job.returncode, output


def log(role):
    with open(os.path.join(WORK, "log", role), encoding="utf-8") as file:
        return file.read()


def pid_of(role, says, job):
    """Waits until the log of a role shows a line, and returns the process that wrote it."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        try:
            match = re.search(r" (\d+)\] .*" + says, log(role))
            if match:
                return int(match.group(1))
        except FileNotFoundError:
            pass
        if job.poll() is not None:
            raise AssertionError("the job ended: " + job.communicate()[0])
        time.sleep(0.02)
    raise AssertionError(f"{role} never said {says}")


def trained_so_far(worker):
    """Examples, as its launcher is told; 0 before the first news."""
    try:
        with open(os.path.join(WORK, "log", f"progress.{worker}"), encoding="utf-8") as file:
            match = re.search(r"examples=(\d+)", file.read())
            return int(match.group(1)) if match else 0
    except FileNotFoundError:
        return 0


def stop_somewhere(job, most):
    """SIGTERM when a worker has trained on so many examples, a number that is drawn from PRDIST_TEST_SEED and printed."""
    seed = os.environ.get("PRDIST_TEST_SEED", "1")
    examples = random.Random(f"{seed} {CASE}").randrange(1, most)
    print(f"PRDIST_TEST_SEED={seed}: stopped after {examples} examples of worker 0")
    end = time.monotonic() + DEADLINE
    while trained_so_far(0) < examples:
        expect(job.poll() is None, "the job ended before worker 0 had trained on so many")
        expect(time.monotonic() < end, f"worker 0 never trained on {examples} examples")
        time.sleep(0.005)
    job.send_signal(signal.SIGTERM)


def expect(condition, output):
    if not condition:
        print(output)
        for role in sorted(os.listdir(os.path.join(WORK, "log"))):
            print("==", role)
            try:
                print(log(role)[-2000:])
            except (OSError, UnicodeDecodeError):
                pass
        raise AssertionError(CASE)


def trains(strategy, transport, *more):
    plant()
    code, output = finish(start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", strategy,
                                "--transport", transport, "--hidden", "16", "--batch_size", "32", "--result", "result.json", "--epochs", "2", *more))
    expect(code == 0, output)
    with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
        expect(json.load(file)["auc"] > 0.52, output)
    expect("Server listening on 127.0.0.1:" in log("serverlog.0"), output)


def row_policies():
    """Half precision, admission and eviction under a ceiling; and what they are not for."""
    os.environ["PRDIST_SERVER_MEMORY_MB"] = "64"
    trains("async", "tcp", "--precision", "bf16", "--entry", "count_filter_entry:2", "--eviction", "score",
           "--max_staleness", "1000")
    single = subprocess.run([program("ctr_dnn"), "--single", "--train", "data/train", "--test", "data/test", "--precision",
                             "bf16"], cwd=WORK, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    expect(single.returncode == 78, single.stderr)
    expect("--max_staleness with --single: they are for servers" in single.stderr, single.stderr)
    wrong = subprocess.run([program("ctr_dnn"), "--entry", "count_filter_entry:x", "--train", "data/train", "--test",
                            "data/test"], cwd=WORK, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    expect(wrong.returncode == 64, wrong.stderr)
    expect("entry 'count_filter_entry:x'" in wrong.stderr, wrong.stderr)


def optimizers():
    """Rules and schedules by flag: those of the tables, in one process as well; and what they are not."""
    trains("async", "tcp", "--optimizer", "row_adagrad:rate=0.05,low=-10,high=10", "--dense_optimizer", "adam",
           "--schedule", "polynomial:steps=100000,last=0.1", "--dense_schedule", "cosine:steps=100000,warmup=2",
           "--save_dir", "ckpt")
    with open(os.path.join(WORK, "ckpt", "pass-00000", "manifest.json"), encoding="utf-8") as file:
        sparse, dense = [table["spec"]["optimizer"] for table in json.load(file)["tables"]]
    expect(sparse["name"] == "row_adagrad" and round(sparse["rate"], 6) == 0.05, str(sparse))
    expect(sparse["bounds"] == {"low": -10, "high": 10}, str(sparse))
    expect(dense["name"] == "adam" and round(dense["rate"], 6) == 0.001 and "bounds" not in dense, str(dense))
    expect(sparse["schedule"]["kind"] == "polynomial" and dense["schedule"]["warmup"] == 2, str(sparse) + str(dense))
    common = [program("ctr_dnn"), "--single", "--train", "data/train", "--test", "data/test", "--hidden", "16"]
    single = subprocess.run([*common, "--optimizer", "ftrl:l1=0.001", "--dense_optimizer", "momentum", "--rate", "0.02",
                             "--result", "result.json"], cwd=WORK, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    expect(single.returncode == 0, single.stderr)
    for flag, value, text in [("--optimizer", "adamm", "did you mean adam?"), ("--dense_optimizer", "sgd:rate=x", "rate is 'x'"),
                              ("--schedule", "cosine", "it needs steps"), ("--rate", "nan", "rate is nan")]:
        wrong = subprocess.run([*common, flag, value], cwd=WORK, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
        expect(wrong.returncode == 64 and text in wrong.stderr, flag + " " + wrong.stderr)


def listed_nodes():
    """Two logical nodes on this machine, a prrun each with the same lists, train one model."""
    import socket
    plant()
    held = [socket.create_server((host, 0)) for host in ("127.0.0.1", "127.0.0.2") for _ in range(2)]
    (server0, trainer0), (server1, trainer1) = [["%s:%d" % each.getsockname() for each in held[i:i + 2]] for i in (0, 2)]
    for each in held:
        each.close()
    nodes = []
    for host in ("127.0.0.2", "127.0.0.1"):
        command = [program("prrun"), "--servers", server0 + "," + server1, "--trainers", trainer0 + "," + trainer1,
                   "--host", host, "--with_gloo", "0", "--log_dir", "log", "--",
                   "ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", "sync", "--hidden", "16",
                   "--batch_size", "32", "--result", "result.json", "--epochs", "2"]
        nodes.append(subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}))
    try:
        for node in nodes:
            code, output = finish(node)
            expect(code == 0 and "replicas 2[2:2]" in output, output)
    finally:
        for node in nodes:
            node.kill()
            node.wait()
    with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
        expect(json.load(file)["auc"] > 0.52, output)
    expect(sorted(name for name in os.listdir(os.path.join(WORK, "log")) if "log." in name)
           == ["serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"], output)


def killed(role, said_by, expected):
    """A long job; one process of it is killed; everybody ends, and the report names it."""
    plant()
    job = start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", "sync", "--hidden", "16",
                "--epochs", "100000")
    # All workers are in, so everything is under way.
    pid_of("serverlog.0", "trainer 0 connected", job)
    pid_of("serverlog.0", "trainer 1 connected", job)
    os.kill(pid_of(role, said_by, job), signal.SIGKILL)
    begun = time.monotonic()
    code, output = finish(job)
    expect(code == 137, output)
    expect(expected in output and "SIGKILL" in output, output)
    expect(time.monotonic() - begun < 60, output)


def direct_kill_of_a_server():
    """Without a launcher to clean up: the worker itself says which server is gone, and stops with 75."""
    plant()
    import socket
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    endpoints = ",".join("127.0.0.1:%d" % s.getsockname()[1] for s in sockets)
    common = {**os.environ, "PADDLE_PSERVERS_IP_PORT_LIST": endpoints, "PADDLE_TRAINERS_NUM": "1",
              "OPENBLAS_NUM_THREADS": "1"}
    arguments = [program("ctr_dnn"), "--train", "data/train", "--test", "data/test", "--hidden", "16", "--epochs", "100000"]
    servers = []
    for i, listening in enumerate(sockets):
        environment = {**common, "TRAINING_ROLE": "PSERVER", "PADDLE_PSERVER_ID": str(i),
                       "PRDIST_LISTEN_FD": str(listening.fileno())}
        servers.append(subprocess.Popen(arguments, cwd=WORK, env=environment, pass_fds=[listening.fileno()],
                                        stderr=subprocess.PIPE, text=True))
        listening.close()
    worker = subprocess.Popen(arguments, cwd=WORK, env={**common, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0"},
                              stderr=subprocess.PIPE, text=True)
    try:
        for line in worker.stderr:  # before this line a server that goes is one that has not come yet
            if "init rpc client" in line:
                break
        servers[1].kill()
        _, said = worker.communicate(timeout=DEADLINE)
        assert worker.returncode == 75, (worker.returncode, said)
        assert "worker 0 -> server 1 at " + endpoints.split(",")[1] in said, said
        _, said = servers[0].communicate(timeout=DEADLINE)
        assert servers[0].returncode == 75, (servers[0].returncode, said)
        assert "trainer 0 is lost" in said, said
    finally:
        for process in [*servers, worker]:
            process.kill()
            process.wait()


def broken_line():
    plant()
    path = os.path.join(WORK, "data", "train", "part-001")
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    lines[6] = lines[6].replace("dense_feature:", "dense_feature:abc", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16"]
    code, output = finish(start(*common))
    expect(code == 78, output)
    expect("part-001:7" in output and "abc" in output, output)
    code, output = finish(start(*common, "--skip_broken_lines"))
    expect(code == 0, output)


def diverged():
    """A rate that is far too large for so deep a network: the job ends before anything of it is learned, and is not tried
    again. In Sync, where every run has the same numbers."""
    plant()
    code, output = finish(start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", *["64"] * 20,
                                "--rate", "10", "--batch_size", "64", "--strategy", "sync"))
    expect(code == 78, output)
    expect(re.search(r"prdist\[job.diverged\] worker [01], step \d+: the loss is (nan|inf), so nothing of this step was "
                     "learned: take a smaller learning rate", output), output)


def model(path):
    """Every array of a .npz, sparse rows by their key: what numpy would show, without numpy."""
    import struct
    import zipfile
    arrays = {}
    with zipfile.ZipFile(os.path.join(WORK, path)) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            arrays[name.removesuffix(".npy")] = data[10 + struct.unpack("<H", data[8:10])[0]:]
    for name in [name for name in arrays if name.endswith(".keys")]:
        table = name.removesuffix(".keys")
        keys, rows = arrays.pop(name), arrays.pop(table + ".rows")
        width = len(rows) // (len(keys) // 8)
        for i in range(len(keys) // 8):
            arrays[table, keys[8 * i:8 * i + 8]] = rows[width * i:width * (i + 1)]
    return arrays


def shape(path, name):
    """Of an array in a .npz, as numpy.load(path)[name].shape gives it."""
    import ast
    import struct
    import zipfile
    with zipfile.ZipFile(os.path.join(WORK, path)) as archive:
        data = archive.read(name + ".npy")
    return ast.literal_eval(data[10:10 + struct.unpack("<H", data[8:10])[0]].decode())["shape"]


def resumed(strategy, *more):
    """Stopped by SIGTERM behind a checkpoint, resumed on another number of servers and stopped somewhere, resumed again:
    every row once; in Sync the same bits."""
    rows, epochs = 4000, 24
    plant(rows=rows)
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", strategy, "--hidden", "16",
              "--batch_size", "32", "--epochs", str(epochs), *more]
    saving = [*common, "--save_dir", "ckpt", "--save_interval", "25", "--save_full_every", "3"]
    code, output = finish(start(*common, "--export", "alone.npz", "--result", "alone.json"))
    expect(code == 0, output)
    for servers in [2, 3]:
        job = start(*saving, *(["--resume"] if servers == 3 else []), servers=servers)
        if servers == 2:
            pid_of("workerlog.0", "checkpoint .*pass-00001", job)
            job.send_signal(signal.SIGTERM)
        else:
            stop_somewhere(job, rows // 2 * epochs // 2)
        code, output = finish(job)
        expect(code == 143, output)
        expect(servers == 2 or "resumed from" in log("workerlog.0"), output)
    passes = sorted(os.listdir(os.path.join(WORK, "ckpt")))
    expect(passes and all(re.fullmatch(r"pass-\d{5}", name) for name in passes), str(passes) + output)
    with open(os.path.join(WORK, "ckpt", passes[-1], "manifest.json"), encoding="utf-8") as file:
        positions = [trainer["position"] for trainer in json.load(file)["trainers"]]
    expect(any(position["epoch"] < epochs for position in positions), str(positions) + output)
    code, output = finish(start(*saving, "--resume", "--export", "resumed.npz", "--result", "resumed.json", servers=1))
    expect(code == 0 and "resumed from" in log("workerlog.0"), output)
    expect("checkpoint resumed.npz" not in log("workerlog.0") and "model in resumed.npz: " in log("workerlog.0"), output)
    expect(shape("resumed.npz", "fc0.w") == (26 * 9 + 13, 16) and shape("resumed.npz", "fc0.b") == (16,), output)
    aucs = []
    for name in ["alone.json", "resumed.json"]:
        with open(os.path.join(WORK, name), encoding="utf-8") as file:
            aucs.append(json.load(file)["auc"])
    print(aucs)
    if strategy == "sync":
        expect(model("alone.npz") == model("resumed.npz"), output)
        expect(aucs[0] == aucs[1], str(aucs))
    else:
        expect(model("alone.npz").keys() == model("resumed.npz").keys(), output)
        expect(abs(aucs[0] - aucs[1]) < AUC_NOISE, str(aucs))


def dealt(strategy, *more):
    """Stopped by SIGTERM and resumed with three workers, stopped again and resumed with one: every row once per epoch."""
    rows, epochs = 4000, 30
    plant(rows=rows, files=7)
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", strategy, "--hidden", "16",
              "--batch_size", "32", "--epochs", str(epochs), *more]
    code, output = finish(start(*common, "--result", "alone.json"))
    expect(code == 0, output)
    examples, saved = [], []
    for workers in [2, 3]:
        job = start(*common, "--save_dir", "ckpt", "--save_interval", "15", "--resume", trainers=workers)
        pid_of("workerlog.0", "checkpoint .*pass-%05d" % (saved[-1] + 1 if saved else 0), job)
        job.send_signal(signal.SIGTERM)
        code, output = finish(job)
        expect(code == 143, output)
        saved.append(max(int(name.removeprefix("pass-")) for name in os.listdir(os.path.join(WORK, "ckpt"))))
        examples += [int(re.findall(r"trained on (\d+) examples", log(f"workerlog.{i}"))[-1]) for i in range(workers)]
    expect("what 2 workers had left of the data is dealt out to 3" in log("workerlog.0"), output)
    expect(0 < min(examples[:2]) and sum(examples) < rows * epochs, str(examples) + output)
    code, output = finish(start(*common, "--save_dir", "ckpt", "--resume", "--result", "dealt.json", trainers=1))
    expect(code == 0 and "what 3 workers had left of the data is dealt out to 1" in log("workerlog.0"), output)
    results = []
    for name in ["alone.json", "dealt.json"]:
        with open(os.path.join(WORK, name), encoding="utf-8") as file:
            results.append(json.load(file))
    expect(results[0]["examples"] == rows * epochs, str(results))
    expect(sum(examples) + results[1]["examples"] == rows * epochs, str(examples) + str(results))
    print([result["auc"] for result in results])
    # Geo divides what a worker has learned by how many there are: with another number it may end elsewhere, not below.
    lost = results[0]["auc"] - results[1]["auc"]
    expect(lost < AUC_NOISE and (strategy == "geo" or lost > -AUC_NOISE), str(results))


def threads_of_config():
    """`threads` of config.yaml reaches the workers as CPU_NUM; the flag goes before it, and nonsense is refused by name."""
    plant()
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16", "--batch_size", "32", "--result",
              "result.json"]

    def threads():
        with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
            return json.load(file)["threads"]

    for environment, more, expected in [({}, [], 1), ({"CPU_NUM": "3"}, [], 3), ({"CPU_NUM": "3"}, ["--threads", "2"], 2)]:
        code, output = finish(start(*common, *more, environment=environment))
        expect(code == 0 and threads() == expected, output)
    for value in ["0", "many"]:
        code, output = finish(start(*common, environment={"CPU_NUM": value}))
        expect(code == 78 and f"CPU_NUM='{value}': a number from 1 to 1024 is expected" in output, output)
    if not os.path.exists(program("prgen")):
        return  # a prrun without it reads no config.yaml
    with open(os.path.join(WORK, "config.yaml"), "w", encoding="utf-8") as file:
        file.write("runner:\n  sync_mode: async\n  thread_num: 2\n")
    with open(os.path.join(WORK, "backend.yaml"), "w", encoding="utf-8") as file:
        file.write("engine:\n  backend: local\n  job_name: ctr\n  submit: {server_num: 1, trainer_num: 2}\n")
    ran = subprocess.run([program("prrun"), "-m", "config.yaml", "-b", "backend.yaml", "--", program("ctr_dnn"), *common[1:]],
                         cwd=WORK, capture_output=True, text=True, timeout=DEADLINE,
                         env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    expect(ran.returncode == 0 and threads() == 2, ran.stdout + ran.stderr)


def ssp_saves():
    """Who waits for a slower one's clock comes to the checkpoints all the same."""
    plant()
    code, output = finish(start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", "ssp",
                                "--staleness", "1", "--threads", "2", "--hidden", "16", "--batch_size", "32", "--epochs",
                                "8", "--save_dir", "ckpt", "--save_interval", "10"))
    expect(code == 0, output)


def few_rows_for_worker_0(rows=40):
    plant()
    for name in ["part-000", "part-001"]:
        path = os.path.join(WORK, "data", "train", name)
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()[:rows]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)


def uneven(*more, stop=None, epochs=100):
    """One worker has far fewer rows: it waits for the other for longer than any call may take."""
    few_rows_for_worker_0()
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "64", "--batch_size", "16", "--epochs",
              str(epochs), *more]
    short = {"FLAGS_rpc_deadline": "1500"}
    job = start(*common, environment=short)
    if not stop:
        code, output = finish(job)
        expect(code == 0, output)
        return
    finished = pid_of("workerlog.0", "still waiting: trainer 0 waits at 'trained' for trainers 1", job)
    os.kill(job.pid if stop == "all" else finished, signal.SIGTERM)
    code, output = finish(job)
    expect(code == 143, output)
    passes = sorted(os.listdir(os.path.join(WORK, "ckpt")))
    with open(os.path.join(WORK, "ckpt", passes[-1], "manifest.json"), encoding="utf-8") as file:
        expect(len(json.load(file)["trainers"]) == 2, output)
    code, output = finish(start(*common, "--resume", environment=short))
    expect(code == 0 and "resumed from" in log("workerlog.0"), output)


def last_holds_all(strategy, resume=False):
    """Worker 0 has finished long before worker 1, which writes on: the last checkpoint is what the servers hold."""
    few_rows_for_worker_0(400 if resume else 40)  # it is to be there yet when the job is stopped
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", strategy, "--hidden", "16",
              "--batch_size", "16", "--epochs", "6", "--save_dir", "ckpt", "--save_interval", "7", "--save_full_every", "4",
              "--save_keep", "3"]
    if resume:
        job = start(*common)
        pid_of("workerlog.0", "checkpoint .*pass-", job)
        job.send_signal(signal.SIGTERM)
        code, output = finish(job)
        expect(code == 143, output)
        common.append("--resume")
    code, output = finish(start(*common, "--export", "direct.npz"))
    expect(code == 0 and "checkpoint ckpt/pass-" in log("workerlog.1"), output)
    expect("not resumed from" not in log("workerlog.0") + log("workerlog.1"), output)
    passes = [name for name in os.listdir(os.path.join(WORK, "ckpt")) if name.startswith("pass-")]
    expect(3 <= len(passes) <= 6, str(passes) + output)
    exported = subprocess.run([program("prckpt"), "export", "ckpt", "saved.npz"], cwd=WORK, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=DEADLINE)
    expect(exported.returncode == 0, exported.stdout)
    expect(model("direct.npz") == model("saved.npz"), output + exported.stdout)


def no_room_for_the_last():
    """The last checkpoint cannot be written: the result and the model are, and the exit code says what is missing."""
    plant()
    with open(os.path.join(WORK, "result.json"), "w", encoding="utf-8") as file:
        file.write("old")
    job = start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16", "--batch_size", "16",
                "--epochs", "20", "--save_dir", "ckpt", "--resume", "--result", "result.json", "--export", "model.npz")
    pid_of("workerlog.0", "training begins anew", job)
    os.rename(os.path.join(WORK, "ckpt"), os.path.join(WORK, "away"))
    with open(os.path.join(WORK, "ckpt"), "w", encoding="utf-8"):
        pass
    code, output = finish(job)
    expect(code == 78, output)
    for role in ("workerlog.0", "workerlog.1"):
        expect("the last checkpoint was not written" in log(role), output)
    with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
        expect(json.load(file)["auc"] > 0.5, output)
    expect(len(model("model.npz")) > 1000, output)


def no_time_for_the_last():
    """SIGTERM to the job, and trainer 1 stands still: the others wait for it until they are killed. That is not 143."""
    plant()
    script = """[ "$TRAINING_ROLE$PADDLE_TRAINER_ID" = TRAINER1 ] || exec "$0" "$@"
        trap 'kill -STOP $child' TERM
        setsid "$0" "$@" & child=$!
        while kill -0 $child; do wait $child; done"""
    job = start("sh", "-c", script, program("ctr_dnn"), "--train", "data/train", "--test", "data/test", "--hidden", "16",
                "--epochs", "100000", "--save_dir", "ckpt", flags=["--grace", "1"])
    pid_of("serverlog.0", "trainer 1 connected", job)
    pid_of("serverlog.0", "trainer 0 connected", job)
    job.send_signal(signal.SIGTERM)
    code, output = finish(job)
    expect(code == 137, output)
    expect("SIGTERM: SIGTERM to all that is left, which has up to 1 s (--grace) for a last checkpoint" in output, output)
    expect("server 0, server 1, trainer 0 and trainer 1 were killed after 1 s of --grace: what they were saving is lost, "
           "raise --grace" in output, output)
    expect("pass-00000" not in os.listdir(os.path.join(WORK, "ckpt")), output)
    with open(os.path.join(WORK, "report.json"), encoding="utf-8") as file:
        expect(json.load(file)["exit_code"] == 137, output)


def numbers_are_checked():
    """What is no number of its kind is refused, and nothing wraps around."""
    plant()
    for name, value in [("--save_interval", "-5"), ("--save_interval", "99999999999999999999"), ("--max_staleness", "-1"),
                        ("--max_staleness", "4294967296"), ("--seed", "-1"), ("--seed", "99999999999999999999"),
                        ("--save_keep", "0"), ("--save_full_every", "-1"), ("--rows", "-1"), ("--dim", "4294967297"),
                        ("--epochs", "-1"), ("--batch_size", "0"), ("--threads", "-1"), ("--hidden", "4294967297"),
                        ("--staleness", "-1"), ("--push_interval", "0"), ("--send_queue_size", "-1"), ("--save_dir", "")]:
        wrong = subprocess.run([program("ctr_dnn"), "--single", "--train", "data/train", "--test", "data/test", name,
                                value], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=DEADLINE)
        assert wrong.returncode == 64 and name in wrong.stdout, (name, value, wrong)
    os.mkfifo(os.path.join(WORK, "pipe"))
    wrong = subprocess.run([program("ctr_dnn"), "--train", "data/train", "--test", "data/test", "--export", "pipe"],
                           cwd=WORK, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    assert wrong.returncode == 78 and "cannot write --export pipe" in wrong.stderr, wrong


def one_is_asked_to_stop(role):
    """SIGTERM to one process of the job: all save, and all end with 143."""
    plant()
    job = start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16", "--epochs", "100000",
                "--save_dir", "ckpt")
    pid = pid_of(role, "Server listening" if role.startswith("server") else "init rpc client", job)
    pid_of("serverlog.0", "trainer 1 connected", job)
    pid_of("serverlog.0", "trainer 0 connected", job)
    os.kill(pid, signal.SIGTERM)
    code, output = finish(job)
    expect(code == 143, output)
    # The report says who was asked, and calls nobody a failure.
    member = re.sub(r"(server|worker)log[.]", lambda found: {"server": "server ", "worker": "trainer "}[found.group(1)], role)
    expect(member + " was asked to stop, and the job has ended in order with exit code 143 after " in output, output)
    expect(re.search(member + r" +\d+ +exit 143  <- asked to stop", output), output)
    expect("first failure" not in output and " failed: " not in output, output)
    expect(len(re.findall(r" exit 143[ ,]", output)) == 4, output)
    expect(os.listdir(os.path.join(WORK, "ckpt")) == ["pass-00000"], str(os.listdir(os.path.join(WORK, "ckpt"))) + output)


def quality():
    """The demo's network, each strategy on 2 servers and 2 workers: none loses more than .005 of AUC to one process."""
    plant(rows=200000, files=8, test_rows=40000)
    common = ["--train", "data/train", "--test", "data/test", "--seed", "1", "--result", "result.json"]

    def auc():
        with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
            return json.load(file)["auc"]

    subprocess.run([program("ctr_dnn"), "--single", *common], cwd=WORK, check=True, stderr=subprocess.DEVNULL,
                   env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, timeout=2 * DEADLINE)
    found = {"one process": auc()}
    for strategy in ["sync", "half_async", "async", "geo", "ssp"]:
        # As in the demo: as many examples lie between two looks at a weight as in one process.
        code, output = finish(start("ctr_dnn", *common, "--strategy", strategy, "--batch_size", "256"))
        expect(code == 0, output)
        found[strategy] = auc()
    print(found)
    expect(min(found.values()) >= found["one process"] - 0.005, str(found))


def stopped_before_anything():
    """SIGTERM while somebody is still missing: there is nothing to wait for, and nothing to save."""
    import socket
    plant()
    held = socket.create_server(("127.0.0.1", 0))
    common = {**os.environ, "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:%d" % held.getsockname()[1], "PADDLE_TRAINERS_NUM": "2",
              "OPENBLAS_NUM_THREADS": "1"}
    arguments = [program("ctr_dnn"), "--train", "data/train", "--test", "data/test", "--hidden", "16", "--save_dir", "ckpt"]
    worker = {**common, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0"}
    server = {**common, "TRAINING_ROLE": "PSERVER", "PADDLE_PSERVER_ID": "0", "PRDIST_LISTEN_FD": str(held.fileno())}

    def begin(environment, says):
        process = subprocess.Popen(arguments, cwd=WORK, env=environment, pass_fds=[held.fileno()], stderr=subprocess.PIPE,
                                   text=True)
        said = []
        for line in process.stderr:
            said.append(line)
            if says in line:
                return process
        raise AssertionError("".join(said))

    def ended(process, *texts):
        _, said = process.communicate(timeout=DEADLINE)
        assert process.returncode == 143, (process.returncode, said)
        assert all(text in said for text in texts), said

    # A worker whose server is not there: the list names a port that is bound and on which nobody answers.
    quiet = socket.socket()
    quiet.bind(("127.0.0.1", 0))
    lonely = begin({**worker, "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:%d" % quiet.getsockname()[1]}, "server not ready")
    lonely.terminate()
    ended(lonely, "asked to stop while it waited for 1 of 1 servers")
    # A server to which nobody has come.
    alone = begin(server, "Server listening")
    alone.terminate()
    ended(alone, "asked to stop before trainers 0, 1 of 2 had come")
    # A server and one of two workers; only the worker is asked.
    first = begin(server, "Server listening")
    second = begin(worker, "init rpc client")
    second.terminate()
    ended(second, "asked to stop before trainers 1 of 2 had come")
    ended(first, "asked to stop before trainers 1 of 2 had come")
    held.close()
    assert not os.listdir(os.path.join(WORK, "ckpt"))


def asked_while_it_evaluates():
    """What was trained is on the disk already: the job ends with 143, and --resume evaluates it."""
    plant()
    # So many test rows that the evaluation can be met.
    with open(os.path.join(WORK, "data", "test", os.listdir(os.path.join(WORK, "data", "test"))[0]), "r+",
              encoding="utf-8") as file:
        rows = file.read()
        file.write(rows * 200)
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16", "--save_dir", "ckpt", "--result",
              "result.json"]
    job = start(*common)
    pid = pid_of("workerlog.0", "checkpoint .*pass-00000", job)
    os.kill(pid, signal.SIGTERM)
    code, output = finish(job)
    expect(code == 143 and "--resume evaluates" in log("workerlog.0"), output)
    expect(not open(os.path.join(WORK, "result.json"), encoding="utf-8").read(), output)
    with open(os.path.join(WORK, "data", "test", "few"), "w", encoding="utf-8") as file:
        file.write(rows)
    common[4] = "data/test/few"
    code, output = finish(start(*common, "--resume"))
    expect(code == 0, output)
    with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
        expect(json.load(file)["auc"] > 0.5, output)


def nothing_to_resume_to():
    plant()
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", "16"]
    code, output = finish(start(*common, "--resume"))
    expect(code == 78 and "--resume needs --save_dir" in output, output)
    with open(os.path.join(WORK, "file"), "w", encoding="utf-8"):
        pass
    code, output = finish(start(*common, "--save_dir", "file/ckpt"))
    expect(code == 78 and "cannot make the folder file/ckpt" in output, output)
    code, output = finish(start(*common, "--export", "nowhere/model.npz"))
    expect(code == 78 and "cannot write --export nowhere/model.npz" in output, output)
    code, output = finish(start(*common, "--save_interval", "3"))
    expect(code == 78 and "--save_interval needs --save_dir" in output, output)
    code, output = finish(start(*common, "--save_dir", "ckpt", "--resume"))
    expect(code == 0 and "has no checkpoint: training begins anew" in log("workerlog.0"), output)
    code, output = finish(start(*common, "--save_dir", "ckpt"))
    expect(code == 78 and "holds checkpoints up to pass-00000: go on from them with --resume" in output, output)
    os.remove(os.path.join(WORK, "ckpt", "pass-00000", "part-001"))
    code, output = finish(start(*common, "--save_dir", "ckpt", "--resume"))
    expect(code == 78 and "none of them can be loaded" in output, output)


def too_few_files():
    plant(files=1)
    code, output = finish(start("ctr_dnn", "--train", "data/train", "--test", "data/test", trainers=3))
    expect(code == 78, output)
    refused = ("data/train has 1 files for 3 workers, so 2 of them have none of their own: split the files, or start "
               "fewer workers")
    expect(refused in output, output)
    # Also when there is nothing yet to go on from.
    code, output = finish(start("ctr_dnn", "--train", "data/train", "--test", "data/test", "--save_dir", "ckpt",
                                "--resume", trainers=3))
    expect(code == 78 and refused in output, output)


def more_workers_than_files(strategy):
    """A job that begins so is refused, one that goes on takes whoever is there: every row once per epoch all the same."""
    rows, epochs = 2000, 20
    plant(rows=rows, files=2)
    common = ["ctr_dnn", "--train", "data/train", "--test", "data/test", "--strategy", strategy, "--hidden", "16",
              "--batch_size", "32", "--epochs", str(epochs), "--save_dir", "ckpt"]
    job = start(*common, "--save_interval", "15")
    pid_of("workerlog.0", "checkpoint .*pass-00000", job)
    job.send_signal(signal.SIGTERM)
    code, output = finish(job)
    expect(code == 143, output)
    examples = sum(int(re.findall(r"trained on (\d+) examples", log(f"workerlog.{i}"))[-1]) for i in range(2))
    saved = max(int(name.removeprefix("pass-")) for name in os.listdir(os.path.join(WORK, "ckpt")))
    job = start(*common, "--save_interval", "15", "--resume", trainers=4)
    pid_of("workerlog.0", "checkpoint .*pass-%05d" % (saved + 1), job)
    job.send_signal(signal.SIGTERM)
    code, output = finish(job)
    expect(code == 143 and "what 2 workers had left of the data is dealt out to 4" in log("workerlog.0"), output)
    expect("2 files for 4 workers: 2 of them have none" in log("workerlog.0"), output)
    examples += sum(int(re.findall(r"trained on (\d+) examples", log(f"workerlog.{i}"))[-1]) for i in range(4))
    expect(examples < rows * epochs, str(examples) + output)
    # And on with as many, some of which had no file.
    code, output = finish(start(*common, "--resume", "--result", "result.json", trainers=4))
    expect(code == 0, output)
    with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
        expect(examples + json.load(file)["examples"] == rows * epochs, str(examples) + output)


def ten_lines():
    plant()
    code, output = finish(start("01_fleet", "data/train"))
    expect(code == 0, output)


def pull_push():
    code, output = finish(start("02_pull_push", servers=1))
    expect(code == 0, output)
    losses = [float(x) for x in re.findall(r"mean loss ([0-9.]+)", log("workerlog.0"))]
    expect(len(losses) == 4 and losses[-1] < 0.7 * losses[0], output)


def own_model():
    """The model of docs/models.md, whose code is the example's word by word."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "examples", "03_own_model.cpp"), encoding="utf-8") as file:
        code_of_example = file.read()
    with open(os.path.join(here, "..", "docs", "models.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```cpp\n(.*?)```", file.read(), re.S)
    assert len(blocks) == 5 and all(block in code_of_example for block in blocks), blocks
    checked = subprocess.run([program("03_own_model"), "--check"], stdout=subprocess.PIPE, text=True, timeout=DEADLINE,
                             check=True)
    assert re.match(r"gradients are off by [0-9.e-]+ at most, (part|table) '", checked.stdout), checked.stdout
    plant(rows=20000)
    code, output = finish(start("03_own_model", "data/train", "data/test", "model.npz"))
    expect(code == 0, output)
    losses = [float(x) for x in re.findall(r"mean loss ([0-9.]+)", log("workerlog.0"))]
    expect(len(losses) == 3 and losses[-1] < losses[0], log("workerlog.0"))
    expect(float(re.search(r"AUC ([0-9.]+)", log("workerlog.0")).group(1)) > 0.6, log("workerlog.0"))
    expect(shape("model.npz", "match") == (8, 8) and shape("model.npz", "feature") == (13,), output)


def wrapped():
    """A program between the launcher and ours: the socket comes through it."""
    code, output = finish(start("/usr/bin/env", program("02_pull_push"), servers=1))
    expect(code == 0, output)


def environment_is_wrong():
    cases = {
        "PADDLE_PSERVERS_IP_PORT_LIST": [(None, "is not set"), ("nonsense", "has no port"), ("a:1,a:1", "stands there twice")],
        "TRAINING_ROLE": [(None, "is not set"), ("BOSS", "PSERVER or TRAINER is expected")],
        "PADDLE_TRAINERS_NUM": [(None, "is not set"), ("zwei", "a number from 1"), ("0", "a number from 1")],
        "PADDLE_TRAINER_ID": [(None, "is not set"), ("7", "ids run from 0 to 0"), ("-1", "a number from 0")],
        "FLAGS_rpc_deadline": [("soon", "a number from 1")],
    }
    fine = {"PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:1", "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINERS_NUM": "1",
            "PADDLE_TRAINER_ID": "0"}
    plant()
    for name, values in cases.items():
        for value, said in values:
            environment = {"PATH": os.environ["PATH"], **fine}
            environment.pop(name, None)
            if value is not None:
                environment[name] = value
            result = subprocess.run([program("01_fleet"), "data/train"], cwd=WORK, env=environment, capture_output=True,
                                    text=True, timeout=DEADLINE, check=False)
            assert result.returncode == 78, (name, value, result)
            assert name in result.stderr and said in result.stderr, (name, value, result.stderr)


CASES = {
    "async_beast": lambda: trains("async", "beast"),
    "sync_beast": lambda: trains("sync", "beast"),
    "async_tcp": lambda: trains("async", "tcp"),
    "sync_tcp": lambda: trains("sync", "tcp"),
    "half_async": lambda: trains("half_async", "beast", "--threads", "3"),
    "geo": lambda: trains("geo", "beast", "--k_steps", "3", "--threads", "2"),
    "ssp": lambda: trains("ssp", "beast", "--staleness", "1", "--threads", "2"),
    "quality": quality,
    "row_policies": row_policies,
    "optimizers": optimizers,
    "listed_nodes": listed_nodes,
    "resumed_sync": lambda: resumed("sync"),
    "resumed_sync_half": lambda: resumed("sync", "--precision", "bf16", "--entry", "count_filter_entry:3"),
    "resumed_async": lambda: resumed("async", "--threads", "2"),
    "resumed_half_async": lambda: resumed("half_async", "--threads", "2"),
    "resumed_ssp": lambda: resumed("ssp", "--staleness", "1"),
    "resumed_geo": lambda: resumed("geo", "--k_steps", "4"),
    "dealt_sync": lambda: dealt("sync"),
    "dealt_async": lambda: dealt("async", "--threads", "2"),
    "dealt_geo": lambda: dealt("geo", "--k_steps", "4"),
    "nothing_to_resume_to": nothing_to_resume_to,
    "threads_of_config": threads_of_config,
    "ssp_saves": ssp_saves,
    "uneven_async": lambda: uneven("--strategy", "async"),
    "uneven_sync_stopped": lambda: uneven("--strategy", "sync", "--save_dir", "ckpt", "--save_interval", "200", stop="all",
                                          epochs=30),
    "uneven_async_stopped": lambda: uneven("--save_dir", "ckpt", stop="all"),
    "finished_one_is_asked_to_stop": lambda: uneven("--save_dir", "ckpt", stop="the one that has finished"),
    "finished_one_of_sync_is_asked_to_stop": lambda: uneven("--strategy", "sync", "--save_dir", "ckpt",
                                                            stop="the one that has finished", epochs=30),
    "last_holds_all_async": lambda: last_holds_all("async"),
    "last_holds_all_sync": lambda: last_holds_all("sync"),
    "last_holds_all_async_resumed": lambda: last_holds_all("async", resume=True),
    "last_holds_all_sync_resumed": lambda: last_holds_all("sync", resume=True),
    "no_room_for_the_last": no_room_for_the_last,
    "no_time_for_the_last": no_time_for_the_last,
    "numbers_are_checked": numbers_are_checked,
    "stopped_before_anything": stopped_before_anything,
    "asked_while_it_evaluates": asked_while_it_evaluates,
    "server_is_asked_to_stop": lambda: one_is_asked_to_stop("serverlog.1"),
    "worker_is_asked_to_stop": lambda: one_is_asked_to_stop("workerlog.0"),
    "killed_server": lambda: killed("serverlog.1", "Server listening", "server 1"),
    "killed_trainer": lambda: killed("workerlog.1", "init rpc client", "trainer 1"),
    "direct_kill_of_a_server": direct_kill_of_a_server,
    "broken_line": broken_line,
    "diverged": diverged,
    "too_few_files": too_few_files,
    "more_workers_than_files_sync": lambda: more_workers_than_files("sync"),
    "more_workers_than_files_async": lambda: more_workers_than_files("async"),
    "ten_lines": ten_lines,
    "pull_push": pull_push,
    "own_model": own_model,
    "wrapped": wrapped,
    "environment_is_wrong": environment_is_wrong,
}

if __name__ == "__main__":
    CASES[CASE]()
    import shutil
    shutil.rmtree(WORK, ignore_errors=True)
