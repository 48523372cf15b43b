#!/usr/bin/env python3
"""Elastic jobs under prrun --nnodes: logical nodes of this machine, a prrun each, train with the real ctr_dnn while some
of them come, leave and are killed. Usage: elastic_nodes.py BIN_DIR CASE"""
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
WORK = tempfile.mkdtemp(prefix="prdist-elastic-nodes-")
DEADLINE = 120


class Job:
    """Nodes as the test starts them, which meet at a store of the first one. Leave it and every process has ended."""

    def __init__(self, nodes, *program, flags=()):
        self.nodes = {}
        self.held = job_setup.held_port()
        self.common = ["--nnodes", nodes, "--master", "127.0.0.1:%d" % self.held.getsockname()[1], "--job_id", "ctr",
                       "--node_timeout", "3", "--log_dir", os.path.join(WORK, "log"), *flags]
        self.program = [os.path.join(BIN, "ctr_dnn"), "--train", "data/train", "--test", "data/test", "--hidden", "16",
                        "--batch_size", "32", "--strategy", "async", *program]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for name, node in self.nodes.items():
            node.kill()  # its guard ends the members
            node.wait()
            if kind is not None:
                print("==", name, "ended with", node.returncode, "\n" + self.said(name)[-4000:])
        self.held.close()

    def node(self, name, host, *flags):
        command = [os.path.join(BIN, "prrun"), *self.common, "--host", host, *flags, "--json",
                   os.path.join(WORK, name + ".json"), "--", *self.program]
        with open(os.path.join(WORK, name + ".txt"), "w", encoding="utf-8") as file:
            self.nodes[name] = subprocess.Popen(command, cwd=WORK, stdout=file, stderr=file,
                                                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})

    def said(self, name):
        with open(os.path.join(WORK, name + ".txt"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def until(self, what, question):
        """Asks until the answer is yes; bounded."""
        end = time.monotonic() + DEADLINE
        while not (answer := question()):
            assert time.monotonic() < end, f"never: {what}"
            time.sleep(0.01)
        return answer

    def says(self, name, what):
        return self.until(f"{name} says {what}", lambda: re.search(what, self.said(name)))

    def done_by(self, trainer):
        return self.until(f"trainer {trainer} has done a file", lambda: re.search("has done ", log(trainer)))

    def pids_of(self, trainer):
        """Those that have written to its log, the last one last."""
        return list(dict.fromkeys(int(pid) for pid in re.findall(r" (\d+)\] ", log(trainer))))

    def code(self, name):
        return self.nodes[name].wait(timeout=DEADLINE)

    def report(self, name):
        with open(os.path.join(WORK, name + ".json"), encoding="utf-8") as file:
            return json.load(file)


def log(index, kind="worker"):
    try:
        with open(os.path.join(WORK, "log", f"{kind}log.{index}"), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def plant(rows=4000, files=8):
    return job_setup.plant(BIN, WORK, rows=rows, files=files)


def expect_every_file(files, epochs, trainers):
    """Each was done once: what was in work when its trainer went is done by another."""
    counts, silent = {}, {}
    for trainer in trainers:
        had = {}  # by process: the file that it had last and has not called done
        for pid, done, file, epoch in re.findall(r" (\d+)\] .*has (done )?data/train/(\S+) of epoch (\d+)", log(trainer)):
            had[pid] = None if done else (file, int(epoch))
            if done:
                counts[file, int(epoch)] = counts.get((file, int(epoch)), 0) + 1
        silent[trainer] = {each for each in had.values() if each}
    missing = {(file, epoch) for file in files for epoch in range(epochs)} - counts.keys()
    assert set(counts.values()) == {1} and len(counts) + len(missing) == len(files) * epochs, (missing, counts)
    # One that was killed between the servers' answer and its own line has done it, too: nobody else gets it then.
    for trainer, had in silent.items():
        again = sum(int(number) for number in re.findall(rf" (\d+) files of trainer {trainer} are handed", log(0, "server")))
        assert len(missing & had) == max(0, len(had) - again), (trainer, again, had, missing)
        missing -= had
    assert not missing, missing


def expect_auc():
    with open(os.path.join(WORK, "result.json"), encoding="utf-8") as file:
        auc = json.load(file)["auc"]
    assert auc > 0.52, auc


def come_and_go():
    """Servers are on the first node alone. A trainer-only node that was there from the beginning is killed, one comes
    and is asked to go, a trainer beside the servers is killed and started again. The others keep their processes."""
    files, epochs = plant(), 150
    with Job("1:3", "--epochs", str(epochs), "--result", "result.json",
             flags=["--elastic_timeout", "3", "--max_restart", "2"]) as job:
        job.node("first", "127.0.0.1", "--rank", "0", "--server_num", "2")
        job.says("first", "1 of 1:3 nodes has come")  # so that the store is there
        job.node("second", "127.0.0.2", "--server_num", "0", "--trainer_num", "1")
        for trainer in (0, 1):
            job.done_by(trainer)
        (stays,) = job.pids_of(0)
        assert not os.path.exists(os.path.join(WORK, "log", "serverlog.2"))
        # One that comes later, by the same command as the first.
        job.node("third", "127.0.0.3")
        job.done_by(2)
        # A founder without servers is killed as a machine is: no word of it.
        job.nodes["second"].kill()
        for pid in job.pids_of(1):
            job.until("the guard has ended its trainer", lambda: not os.path.exists(f"/proc/{pid}"))
        job.says("first", r"node \w+ \(127.0.0.2\) ")
        (third,) = job.pids_of(2)
        # It may have been the killed one's: whoever has it gives it back when it is asked to go.
        job.nodes["third"].send_signal(signal.SIGTERM)
        assert job.code("third") == 143, job.said("third")
        assert not os.path.exists(f"/proc/{third}")
        job.says("first", r"node \w+ \(127.0.0.3\) has left")
        assert job.pids_of(0) == [stays] and job.nodes["first"].poll() is None, "the others keep their processes"
        os.kill(stays, signal.SIGKILL)
        job.says("first", r"trainer 0 was killed by SIGKILL after .* it is started again, restart 1 of 2 of the job")
        job.until("its id trains again", lambda: len(job.pids_of(0)) == 2)
        assert job.code("first") == 0, job.said("first")
        assert re.search(r"Fallen: trainer 0, pid %d, SIGKILL after \d+ s, .*workerlog.0, started again" % stays,
                         job.said("first"))
        (fallen,) = job.report("first")["fallen"]
        assert (fallen["pid"], fallen["signal"], fallen["role"], fallen["index"]) == (stays, "SIGKILL", "trainer", 0)
        assert job.report("first")["outcome"] == "succeeded"
        expect_every_file(files, epochs, range(3))
    expect_auc()


def too_few():
    """Fewer trainers than the least: the launchers wait for --elastic_timeout, say who is missing, and end with 75."""
    plant()
    with Job("2:3", "--epochs", "100000", flags=["--elastic_timeout", "3"]) as job:
        job.node("first", "127.0.0.1", "--rank", "0", "--server_num", "1")
        job.says("first", "1 of 2:3 nodes has come")  # so that the store is there
        job.node("second", "127.0.0.2", "--server_num", "0")
        for trainer in (0, 1):
            job.done_by(trainer)
        job.nodes["second"].send_signal(signal.SIGTERM)
        assert job.code("second") == 143
        job.says("first", r"Waiting for trainers, 3 s at most: 1 trainer is there and at least 2 are needed: node \w+ "
                          r"\(127.0.0.2\) has left")
        # Another comes in time.
        job.node("third", "127.0.0.3", "--server_num", "0")
        job.says("first", "Enough trainers are there again")
        job.until("it trains", lambda: len(re.findall("has done ", log(1))) > 0)
        job.nodes["third"].send_signal(signal.SIGTERM)
        assert job.code("third") == 143
        assert job.code("first") == 75, job.said("first")
        assert "1 trainer is there and at least 2 are needed" in job.report("first")["cause"], job.report("first")


CASES = {"come_and_go": come_and_go, "too_few": too_few}

if __name__ == "__main__":
    CASES[CASE]()
    shutil.rmtree(WORK, ignore_errors=True)
