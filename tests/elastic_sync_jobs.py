#!/usr/bin/env python3
"""Synchronous jobs that form again from their checkpoint when nodes come and go: prrun --elastic_sync with ctr_dnn, on
addresses of this machine. Usage: elastic_sync_jobs.py BIN_DIR CASE"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import job_setup

BIN, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
WORK = tempfile.mkdtemp(prefix="prdist-elastic-sync-")
DEADLINE = 150
ROWS, FILES, EPOCHS = 4000, 7, 40


def path(*parts):
    return os.path.join(WORK, *parts)


def plant():
    job_setup.plant(BIN, WORK, rows=ROWS, files=FILES)


class Job:
    """Nodes of one job, each a prrun in a folder of its own. Leave it and every process that it started has ended."""

    def __init__(self, *arguments):
        self.held = job_setup.held_port()
        self.master = "127.0.0.1:%d" % self.held.getsockname()[1]
        self.arguments = arguments
        self.nodes = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for number, node in self.nodes.items():
            node.kill()
            node.wait()
            if kind is not None:
                print("== node", number, "ended with", node.returncode, "\n" + self.said(number)[-4000:])
                for name in sorted(os.listdir(path(f"node{number}", "log"))):
                    print("==", name, "\n" + self.log(number, name)[-3000:])
        self.held.close()

    def start(self, number):
        os.makedirs(path(f"node{number}"), exist_ok=True)
        command = [os.path.join(BIN, "prrun"), "--nnodes", "1:2", "--master", self.master, "--host", f"127.0.0.{number}",
                   "--rank", "0" if number == 1 else "-1", "--elastic_sync", "--elastic_timeout", "0.5", "--node_timeout",
                   "5", "--max_restart", "9", "--server_num", "1", "--trainer_num", "1", "--", os.path.join(BIN, "ctr_dnn"),
                   "--train", path("data", "train"), "--test", path("data", "test"), "--hidden", "16", "--batch_size", "32",
                   "--strategy", "sync", "--epochs", str(EPOCHS), "--save_dir", path("ckpt"), "--save_interval", "100",
                   "--save_keep", "1000", "--resume", "--result", path("result.json"), *self.arguments]
        with open(path(f"node{number}", "said"), "a", encoding="utf-8") as file:
            self.nodes[number] = subprocess.Popen(command, cwd=path(f"node{number}"), stdout=file, stderr=file,
                                                  env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})

    def said(self, number):
        with open(path(f"node{number}", "said"), encoding="utf-8") as file:
            return file.read()

    def log(self, number, name):
        try:
            with open(path(f"node{number}", "log", name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def examples(self, number, name):
        return int(re.search(r"trained on (\d+) examples", self.log(number, name)).group(1))

    def says(self, what):
        """Waits until the log of trainer 0, which is always on the first node, shows it."""
        end = time.monotonic() + DEADLINE
        while not re.search(what, self.log(1, "workerlog.0")):
            assert self.nodes[1].poll() is None, f"the job ended, and nobody said {what}"
            assert time.monotonic() < end, f"nobody ever said {what}"
            time.sleep(0.02)

    def code(self, number):
        return self.nodes[number].wait(timeout=DEADLINE)


def manifests():
    found = []
    for name in sorted(each for each in os.listdir(path("ckpt")) if re.fullmatch(r"pass-\d{5}", each)):
        with open(path("ckpt", name, "manifest.json"), encoding="utf-8") as file:
            found.append(json.load(file))
    return found


def saved_behind(job, before):
    """Waits for a checkpoint behind the last one of `before`."""
    job.says("checkpoint .*pass-%05d: " % (before + 1))


def comes_and_goes(leave, all_saved):
    """A job of one node; a second one comes, and later goes. Each time all form again and share what is left."""
    plant()
    with Job() as job:
        job.start(1)
        saved_behind(job, -1)
        job.start(2)
        job.says("what 1 workers had left of the data is dealt out to 2")
        examples = job.examples(1, "workerlog.0.prev")
        saved_behind(job, len(manifests()))
        leave(job.nodes[2])
        job.says("what 2 workers had left of the data is dealt out to 1")
        assert job.code(1) == 0
        job.code(2)
        if all_saved:
            examples += job.examples(1, "workerlog.0.prev") + job.examples(2, "workerlog.1") + job.examples(1, "workerlog.0")
            assert examples == ROWS * EPOCHS, examples
    steps = [manifest["step"] for manifest in manifests()]
    assert steps == sorted(steps), steps
    assert {len(manifest["trainers"]) for manifest in manifests()} == {1, 2}
    last = manifests()[-1]["trainers"]
    assert [trainer["position"]["epoch"] for trainer in last] == [EPOCHS], last
    with open(path("result.json"), encoding="utf-8") as file:
        result = json.load(file)
    assert result["auc"] > 0.52, result


CASES = {
    "asked": lambda: comes_and_goes(lambda node: node.send_signal(signal.SIGTERM), True),
    "lost": lambda: comes_and_goes(lambda node: node.kill(), False),  # what it trained behind the checkpoint goes with it
}

if __name__ == "__main__":
    CASES[CASE]()
    shutil.rmtree(WORK, ignore_errors=True)
