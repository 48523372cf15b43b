#!/usr/bin/env python3
"""Elastic jobs by hand: servers and trainers as processes of their own, some of which come late, leave or are killed.
Usage: elastic_jobs.py BIN_DIR CASE"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import job_setup

BIN, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
WORK = tempfile.mkdtemp(prefix="prdist-elastic-")
DEADLINE = 120


class Job:
    """Two servers, and trainers as the test starts them. Leave it and every process that it started has ended."""

    def __init__(self, elastic, *arguments, began=3, environment=None):
        self.arguments = [os.path.join(BIN, "ctr_dnn"), "--train", "data/train", "--test", "data/test", "--hidden", "16",
                          "--batch_size", "32", *arguments]
        self.processes = {}
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.common = {**os.environ, "PADDLE_TRAINERS_NUM": str(began), "PRDIST_ELASTIC": elastic,
                       "PADDLE_PSERVERS_IP_PORT_LIST": ",".join("127.0.0.1:%d" % s.getsockname()[1] for s in sockets),
                       "OPENBLAS_NUM_THREADS": "1", **(environment or {})}
        for i, listening in enumerate(sockets):
            self.start(f"server{i}", [listening.fileno()], TRAINING_ROLE="PSERVER", PADDLE_PSERVER_ID=str(i),
                       PRDIST_LISTEN_FD=str(listening.fileno()))
            listening.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for name, process in self.processes.items():
            process.kill()
            process.wait()
            if kind is not None:
                print("==", name, "ended with", process.returncode, "\n" + self.log(name)[-3000:])

    def start(self, name, descriptors=(), **environment):
        with open(os.path.join(WORK, name + ".log"), "w", encoding="utf-8") as file:
            self.processes[name] = subprocess.Popen(self.arguments, cwd=WORK, env={**self.common, **environment},
                                                    pass_fds=descriptors, stderr=file)

    def trainer(self, index, name):
        self.start(name, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID=str(index))

    def log(self, name):
        with open(os.path.join(WORK, name + ".log"), encoding="utf-8") as file:
            return file.read()

    def says(self, name, what):
        """Waits until the log of a process shows it."""
        end = time.monotonic() + DEADLINE
        while not re.search(what, self.log(name)):
            assert self.processes[name].poll() is None, f"{name} ended and did not say {what}"
            assert time.monotonic() < end, f"{name} never said {what}"
            time.sleep(0.01)

    def signal(self, name, which):
        self.processes[name].send_signal(which)

    def kill_in_a_file(self, name):
        """Stops it until that happens within a file, then kills it. Returns the file and its epoch."""
        process = self.processes[name]
        while True:
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            has = re.search(r"has data/train/(\S+) of epoch (\d+)$", self.log(name).rstrip())
            if has:
                process.kill()
                assert self.code(name) == -signal.SIGKILL
                return has.group(1), int(has.group(2))
            process.send_signal(signal.SIGCONT)
            time.sleep(0.001)

    def code(self, name):
        return self.processes[name].wait(timeout=DEADLINE)

    def done(self):
        """How often each file was done in each epoch, as the trainers say."""
        counts = {}
        for name in self.processes:
            for file, epoch in re.findall(r"has done data/train/(\S+) of epoch (\d+)", self.log(name)):
                counts[file, int(epoch)] = counts.get((file, int(epoch)), 0) + 1
        return counts


def plant(rows=4000, files=8):
    return job_setup.plant(BIN, WORK, rows=rows, files=files)


def expect_every_file_once(counts, files, epochs):
    assert counts == {(file, epoch): 1 for file in files for epoch in range(epochs)}, counts


def expect_result(rows, path="result.json"):
    with open(os.path.join(WORK, path), encoding="utf-8") as file:
        result = json.load(file)
    assert result["auc"] > 0.52 and result["examples"] == rows, (result, rows)


def come_and_go(*more):
    """One trainer is killed in the middle of a file, one leaves when it is asked to, two others come, one of them with
    an id that was lost. Those who stay keep their processes, every file is trained, and the job ends well."""
    files, epochs = plant(), 100
    with Job("1:4", "--epochs", str(epochs), "--result", "result.json", *more) as job:
        for i in range(3):
            job.trainer(i, f"trainer{i}")
        for i in range(3):
            job.says(f"trainer{i}", "has done ")
        begun = job.kill_in_a_file("trainer1")
        job.says("server0", "trainer 1 is lost")
        job.trainer(1, "again1")
        job.trainer(3, "trainer3")
        job.says("again1", "has done ")
        job.says("trainer3", "has done ")
        job.signal("trainer2", signal.SIGTERM)
        assert job.code("trainer2") == 143
        assert "leaves the job before the end of the data" in job.log("trainer2")
        for name in ["trainer0", "again1", "trainer3", "server0", "server1"]:
            assert job.code(name) == 0, name
        counts = job.done()
        if "1 files of trainer 1 are handed out again" not in job.log("server0"):
            counts[begun] = counts.get(begun, 0) + 1  # it was just done, and could not say so any more
        expect_every_file_once(counts, files, epochs)
        assert sum("test AUC" in job.log(name) for name in job.processes) == 1, "one of them measures"
    expect_result(4000 * epochs)


def stopped_and_resumed(signalled):
    """SIGTERM to the servers, or to all: one trainer saves, all end with 143. Another number of trainers goes on with
    the files that were not done."""
    files, epochs = plant(), 40
    common = ["--epochs", str(epochs), "--result", "result.json", "--save_dir", "ckpt", "--save_interval", "150"]
    with Job("1:4", *common) as job:
        for i in range(3):
            job.trainer(i, f"trainer{i}")
        end = time.monotonic() + DEADLINE
        while not os.path.exists(os.path.join(WORK, "ckpt", "pass-00001", "done")):
            assert time.monotonic() < end
            time.sleep(0.01)
        for name in signalled(job):
            job.signal(name, signal.SIGTERM)
        for name in job.processes:
            assert job.code(name) == 143, (name, job.processes[name].returncode)
        before = job.done()
        newest = sorted(name for name in os.listdir(os.path.join(WORK, "ckpt")) if name.startswith("pass-"))[-1]
        last = [text for text in map(job.log, job.processes) if f"checkpoint ckpt/{newest}: " in text]
        assert len(last) == 1 and last[0].index("trained on") < last[0].index(f"checkpoint ckpt/{newest}: "), newest
    with open(os.path.join(WORK, "ckpt", newest, "manifest.json"), encoding="utf-8") as file:
        state = json.load(file)["trainers"][0]["program"]
    assert state["files"] == len(files) and 0 < state["next"] <= len(files) * epochs, state
    assert state["next"] - len(state["open"]) <= len(before), (state, before)
    with Job("1:2", *common, "--resume", began=2) as job:
        for i in range(2):
            job.trainer(i, f"trainer{i}")
        for name in job.processes:
            assert job.code(name) == 0, name
        after = job.done()
        assert "resumed from" in job.log("trainer0") + job.log("trainer1")
    assert len(after) == len(files) * epochs - (state["next"] - len(state["open"])), (state, len(after))
    assert len(before.keys() | after.keys()) == len(files) * epochs, "every file, some twice"
    expect_result(len(after) * 4000 // len(files))


def too_few():
    """Fewer trainers than the least for longer than the job waits: 75, and the servers say who is missing."""
    plant()
    with Job("2:3", "--epochs", "100000", began=2, environment={"PRDIST_ELASTIC_TIMEOUT": "2"}) as job:
        for i in range(2):
            job.trainer(i, f"trainer{i}")
        for i in range(2):
            job.says(f"trainer{i}", "has done ")
        job.signal("trainer1", signal.SIGKILL)
        for name in ["server0", "server1", "trainer0"]:
            assert job.code(name) == 75, (name, job.processes[name].returncode)
        # The trainer that is left ends with the first server, and the other one may see that before its own time is up.
        said = [f"server {i}: 1 trainers (0) where 2 to 3 are wanted, lost: 1, for 2 s: giving up" for i in range(2)]
        assert any(said[i] in job.log(f"server{i}") for i in range(2)), said
        assert all("are wanted, lost: " in job.log(f"server{i}") for i in range(2))


def refused():
    """What an elastic job cannot be."""
    plant()
    for strategy in ["sync", "geo", "ssp"]:
        with Job("1:4", "--strategy", strategy) as job:
            for name in job.processes:
                assert job.code(name) == 78
                assert f"PRDIST_ELASTIC='1:4' with strategy {strategy}, whose steps depend on" in job.log(name)
    with Job("1:4", began=1) as job:
        job.common["PRDIST_ELASTIC"] = "1:5"
        job.trainer(0, "trainer0")
        assert job.code("trainer0") == 78
        assert "has PRDIST_ELASTIC='1:5', server 0 '1:4': it must be the same everywhere" in job.log("trainer0")
        job.common["PRDIST_ELASTIC"] = "1:4"
        job.trainer(4, "trainer4")
        assert job.code("trainer4") == 78
        assert "PADDLE_TRAINER_ID='4' but PRDIST_ELASTIC='1:4': ids run from 0 to 3" in job.log("trainer4")


CASES = {
    "come_and_go": come_and_go,
    "come_and_go_in_threads": lambda: come_and_go("--strategy", "half_async", "--threads", "2"),
    "stopped_and_resumed": lambda: stopped_and_resumed(lambda job: ["server0", "server1"]),
    "all_stopped_and_resumed": lambda: stopped_and_resumed(lambda job: reversed(job.processes)),
    "too_few": too_few,
    "refused": refused,
}

if __name__ == "__main__":
    CASES[CASE]()
    shutil.rmtree(WORK, ignore_errors=True)
