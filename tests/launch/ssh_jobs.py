#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole jobs over ssh, against real sshd processes: two hosts and the launcher, each in a network namespace of its own
that the test makes and takes away. Where that is not possible, it says why and is skipped.

    ssh_jobs.py BIN_DIR CASE
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
DEADLINE = 100
BIN = pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(tempfile.mkdtemp(prefix="prdist-ssh-"))
ROOT = WORK / "root"  # each host sees a folder of its own here
LOST_AFTER = "60"
OTHER = "a-value-for-the-members-alone"
SECRET = "a-value-nobody-else-shall-see"
# Says that it is there, saves when it is asked to end, and leaves a process in a session of its own.
LASTING = """
trap 'echo saved >output/saved.$TRAINING_ROLE; exit 0' TERM
setsid sleep 1000 &
echo up $TRAINING_ROLE
while :; do sleep 1000 & wait $!; done
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=DEADLINE, **options)


def must(*words):
    ran = run(*words)
    if ran.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {ran.stdout}")


def why_not():
    """What keeps hosts from being made here; nothing when they can be."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    for needed in ["ip", "ssh", "ssh-keygen", "sshd"]:
        if shutil.which(needed, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"there is no {needed} (Debian: openssh-server openssh-client iproute2)"
    name = f"prd{os.getpid()}x"
    made = run("ip", "netns", "add", name)
    if made.returncode == 0:
        made = run("ip", "netns", "exec", name, "true")
        run("ip", "netns", "del", name)
    return "" if made.returncode == 0 else f"no network namespace can be made: {made.stdout.strip()}"


class World:
    """hosta and hostb behind a bridge, and the launcher's side of it."""

    def __init__(self):
        self.names = {key: f"prd{os.getpid()}{key}" for key in ["l", "a", "b"]}
        self.sshd = {}
        self.started = []

    def __enter__(self):
        for name in self.names.values():
            must("ip", "netns", "add", name)
            self.ip(name, "link", "set", "lo", "up")
        here = self.names["l"]
        self.ip(here, "link", "add", "br0", "type", "bridge")
        self.ip(here, "addr", "add", "10.77.0.1/24", "dev", "br0")
        self.ip(here, "link", "set", "br0", "up")
        for number, key in enumerate("ab"):
            self.ip(here, "link", "add", f"to{key}", "type", "veth", "peer", "name", "eth0", "netns", self.names[key])
            self.ip(here, "link", "set", f"to{key}", "master", "br0", "up")
            self.ip(self.names[key], "addr", "add", f"10.77.0.{11 + number}/24", "dev", "eth0")
            self.ip(self.names[key], "link", "set", "eth0", "up")
        ROOT.mkdir()
        must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", WORK / "user")
        shutil.copy(WORK / "user.pub", WORK / "authorized")
        known = []
        for number, key in enumerate("ab"):
            must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", WORK / f"host{key}.key")
            words = (WORK / f"host{key}.key.pub").read_text(encoding="utf-8").split()
            known.append(f"[10.77.0.{11 + number}]:2222 {words[0]} {words[1]}\n")
            self.serve(number, key)
        (WORK / "known").write_text("".join(known), encoding="utf-8")
        (WORK / "config").write_text("".join(
            f"Host host{key}\n  HostName 10.77.0.{11 + number}\n" for number, key in enumerate("ab")) +
            f"Host *\n  Port 2222\n  User root\n  IdentityFile {WORK}/user\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {WORK}/known\n  GlobalKnownHostsFile /dev/null\n", encoding="utf-8")
        (WORK / "machines").write_text("hosta # the first\nhostb slots=1\n", encoding="utf-8")
        return self

    def serve(self, number, key):
        (WORK / key).mkdir()
        (WORK / f"sshd_{key}").write_text(
            f"Port 2222\nListenAddress 10.77.0.{11 + number}\nHostKey {WORK}/host{key}.key\nUsePAM no\nStrictModes no\n"
            f"AuthorizedKeysFile {WORK}/authorized\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            f"PidFile none\nPrintMotd no\n", encoding="utf-8")
        # sshd wants /run/sshd; the one it gets is its own, as is the folder of the jobs.
        script = (f"mount -t tmpfs none /run && mkdir -m 755 /run/sshd && mount --bind {WORK}/{key} {ROOT} && "
                  f"exec {shutil.which('sshd', path='/usr/sbin:/sbin:/usr/bin')} -D -e -f {WORK}/sshd_{key}")
        with open(WORK / f"sshd_{key}.log", "wb") as log:
            self.sshd[key] = subprocess.Popen(["ip", "netns", "exec", self.names[key], "sh", "-c", script],
                                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log = WORK / f"sshd_{key}.log"
        until(lambda: "Server listening" in log.read_text(encoding="utf-8"), f"sshd of host{key}: {log}")

    def __exit__(self, *_):
        for each in [*self.started, *self.sshd.values()]:
            if each.poll() is None:
                each.kill()
            each.wait(timeout=DEADLINE)
        for name in self.names.values():
            for pid in self.pids(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            run("ip", "netns", "del", name)

    @staticmethod
    def ip(name, *words):
        must("ip", "-n", name, *words)

    @staticmethod
    def pids(name):
        return [int(pid) for pid in run("ip", "netns", "pids", name).stdout.split()]

    def here(self, words):
        return ["ip", "netns", "exec", self.names["l"], *map(str, words)]

    def prrun(self, *words, **options):
        return run(*self.here([BIN / "prrun", "--hostfile", WORK / "machines", "--ssh_config", WORK / "config", *words]),
                   cwd=WORK, env=environment(), **options)

    def start(self, *words):
        """A job in the background; its output is a file, so that nothing waits for a reader."""
        output = WORK / "output.txt"
        with open(output, "wb") as file:
            started = subprocess.Popen(
                self.here([BIN / "prrun", "--hostfile", WORK / "machines", "--ssh_config", WORK / "config", *words]),
                cwd=WORK, env=environment(), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        self.started.append(started)
        until(lambda: "[trainer 0] up" in output.read_text(encoding="utf-8") or started.poll() is not None, "the job")
        return started, output

    def nothing_left(self, keys="ab"):
        """Waits until only sshd runs on the hosts."""
        for key in keys:
            until(lambda key=key: self.pids(self.names[key]) == [self.sshd[key].pid], f"host{key}: processes are left",
                  lambda key=key: run("ps", "-o", "pid,ppid,args", "-p", ",".join(map(str, self.pids(self.names[key])))).stdout)

    def workspace(self, key):
        (found,) = (WORK / key).glob("JOB*")
        return found


def environment():
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PADDLE_", "TRAINING_", "OMPI_", "PRDIST_"))}
    return kept | {"OPENBLAS_NUM_THREADS": "1", "MY_TOKEN": SECRET, "PRDIST_LOST_AFTER": LOST_AFTER}


def until(happened, what, details=lambda: ""):
    end = time.monotonic() + 60
    while not happened():
        if time.monotonic() > end:
            raise RuntimeError(f"waited for nothing: {what}\n{details()}")
        time.sleep(0.02)


def expect(ran, code, *texts):
    """The exit code, and patterns that the output has."""
    output = ran.stdout
    missing = [text for text in texts if not re.search(text, output, re.MULTILINE)]
    if ran.returncode != code or missing:
        raise RuntimeError(f"exit code {ran.returncode}, expected {code}; missing {missing}; output:\n{output}")


def package(script=None):
    folder = WORK / "package"
    folder.mkdir(exist_ok=True)
    if script is not None:
        (folder / "program.sh").write_text("#!/bin/sh\n" + script, encoding="utf-8")
        (folder / "program.sh").chmod(0o755)
    return folder


# Copying prrun is tested once; elsewhere the one that was built stands on the "hosts" already.
def job(folder):
    return ["--job_dispatch_package", folder, "--root_dir", ROOT, "--remote_prrun", BIN / "prrun", "--grace", "20"]


def run_trains():
    """The demo on two hosts that have nothing of ours: program, data and prrun are copied."""
    folder = package()
    must(BIN / "prdata", "--out", folder / "data", "--rows", "20000", "--test-rows", "4000", "--files", "4")
    shutil.copy(BIN / "ctr_dnn", folder / "ctr_dnn")
    train = ["--train", "data/train", "--test", "data/test", "--hidden", "16", "--batch_size", "32", "--epochs", "2"]
    local = run(BIN / "prrun", "--server_num", "2", "--trainer_num", "2", "--log_dir", WORK / "local", "--", folder / "ctr_dnn",
                *train, "--result", WORK / "local.json", cwd=folder, env=environment())
    expect(local, 0)
    aim = json.loads((WORK / "local.json").read_text(encoding="utf-8"))["auc"]
    with World() as world:
        ran = world.prrun("--job_dispatch_package", folder, "--root_dir", ROOT, "--json", "report.json", "--", "./ctr_dnn",
                          *train, "--result", "output/result.json")
        expect(ran, 0, r"prrun is copied to hosta: there is none in PATH", r"Copied .* MB to 2 hosts", r"^\[trainer 0\] ",
               r"3 +trainer 1 +hostb +\d+ +exit 0", r"Pod completed", r"Output of node 0 is in hosta, .*/output")
        world.nothing_left()
        result = json.loads((world.workspace("a") / "output/result.json").read_text(encoding="utf-8"))
        print("auc", result["auc"], "on one machine", aim)
        if result["auc"] < max(0.52, aim - 0.02):
            raise RuntimeError(f"auc {result['auc']}, on one machine {aim}\n{ran.stdout}")
        for number, key in enumerate("ab"):
            node = world.workspace(key)
            if (node / "nodefile").read_text(encoding="utf-8") != f"{number}\n":
                raise RuntimeError("nodefile")
            for name in ["server.log", "train.log", "paddle_pserver2.INFO", "paddle_trainer.INFO"]:
                there = (node / "log" / name).read_text(encoding="utf-8")
                if not there or (WORK / f"log/node_{number}" / name).read_text(encoding="utf-8") != there:
                    raise RuntimeError(f"{name} of node {number} was not gathered")
        report = json.loads((WORK / "report.json").read_text(encoding="utf-8"))
        if [each["host"] for each in report["members"]] != ["hosta", "hostb"] * 2 or report["outcome"] != "succeeded":
            raise RuntimeError(report)


def run_host_keys():
    with World() as world:
        known = (WORK / "known").read_text(encoding="utf-8")
        (WORK / "known").write_text(known.splitlines(True)[0], encoding="utf-8")
        expect(world.prrun(*job(package("exit 0")), "--", "./program.sh"), 78,
               r"prdist\[config.invalid\] ssh: 1 of 2 hosts cannot be used:\n  hostb: Host key verification failed\.  -> its "
               r"key is not known here: check it once with ssh hostb, or give --accept_new")
        expect(world.prrun("--accept_new", *job(package()), "--", "./program.sh"), 0, "Pod completed")
        first, second = known.splitlines(True)
        (WORK / "known").write_text(first + second.split()[0] + " " + first.split(" ", 1)[1], encoding="utf-8")
        expect(world.prrun("--accept_new", *job(package()), "--", "./program.sh"), 78, "the host has another key")
        (WORK / "known").write_text(known, encoding="utf-8")
        (WORK / "authorized").write_text("", encoding="utf-8")
        expect(world.prrun(*job(package()), "--", "./program.sh"), 78, "2 of 2 hosts", "passwords are not used: ssh-copy-id hosta")
        world.nothing_left()


def run_hosts_down():
    with World() as world:
        (WORK / "machines").write_text("hosta\n10.77.0.99\nhostb:2223\n", encoding="utf-8")
        expect(world.prrun("--connect_timeout", "2", *job(package("exit 0")), "--", "./program.sh"), 75,
               r"prdist\[transport.no_answer\] ssh: 2 of 3 hosts cannot be used:", r"^  10.77.0.99: .*is the host up",
               r"^  hostb:2223: .*Connection refused  -> is sshd running, on this port\?")
        if list((WORK / "a").iterdir()):
            raise RuntimeError("something was copied although a host is missing")
        world.nothing_left()


def run_failing_trainer():
    script = """
    if [ $TRAINING_ROLE = TRAINER ] && [ $PADDLE_TRAINER_ID = 1 ]; then echo the disk is on fire; exit 7; fi
    setsid sleep 1000 & sleep 1000
    """
    with World() as world:
        ran = world.prrun(*job(package(script)), "--", "./program.sh")
        expect(ran, 7, r"trainer 1 +hostb +\d+ +exit 7  <- first failure", r"  \| the disk is on fire",
               r"trainer 1 on hostb ended with exit code 7", r"server 0 +hosta +\d+ +SIGTERM, stopped")
        world.nothing_left()


def killed(victim, *texts):
    """A job of which one process is killed with SIGKILL: everything ends, and members have time to save."""
    with World() as world:
        started, output = world.start(*job(package(LASTING)), "--", "./program.sh")
        victim(world, started)
        code = started.wait(timeout=DEADLINE)
        world.nothing_left()
        until(lambda: world.pids(world.names["l"]) == [], "the launcher's side: processes are left")
        for key in "ab":
            for role in ["PSERVER", "TRAINER"]:
                if not (world.workspace(key) / f"output/saved.{role}").exists():
                    raise RuntimeError(f"host{key}: {role} had no time to save\n" + output.read_text(encoding="utf-8"))
        text = output.read_text(encoding="utf-8")
        for each in texts:
            if not re.search(each, text):
                raise RuntimeError(f"{each} is not in {text}")
        return code


def children_of(pid):
    return [int(each) for each in run("ps", "-o", "pid=", "--ppid", pid).stdout.split()]


def commands_in(world, key, name):
    found = {}
    for pid in world.pids(world.names[key]):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            if name in words[0]:
                found[pid] = words
    return found


def run_killed_launcher():
    killed(lambda world, started: started.kill(), "the job was stopped because prrun itself was killed")


def run_killed_worker():
    def victim(_, started):
        (guard,) = children_of(started.pid)
        os.kill(children_of(guard)[0], signal.SIGKILL)
    code = killed(victim, "the launcher was killed by SIGKILL after", r"trainer 1 +hostb +\d+ +unknown")
    if code != 137:
        raise RuntimeError(code)


def run_killed_ssh():
    def victim(world, _):
        (pid,) = [pid for pid, words in commands_in(world, "l", "ssh").items() if words[-3] == "hostb"]
        os.kill(pid, signal.SIGKILL)
    code = killed(victim, "the channel to hostb was lost", r"trainer 1 +hostb +\d+ +unknown")
    if code != 75:
        raise RuntimeError(code)


def run_killed_sshd():
    def victim(world, _):
        for pid in commands_in(world, "b", "sshd"):
            if pid != world.sshd["b"].pid:
                os.kill(pid, signal.SIGKILL)
    code = killed(victim, "the channel to hostb was lost")
    if code != 75:
        raise RuntimeError(code)


def run_killed_agent():
    """The visible one of the agent's three processes: the one that supervises ends the members in order."""
    def victim(world, _):
        os.kill(min(commands_in(world, "b", "prrun")), signal.SIGKILL)
    code = killed(victim, "on hostb the job was stopped because prrun itself was killed")
    if code != 137:
        raise RuntimeError(code)


def run_ctrl_c():
    code = killed(lambda world, started: started.send_signal(signal.SIGINT), "the job was stopped by SIGINT")
    if code != 130:
        raise RuntimeError(code)


def run_no_time_to_save():
    """Agents say whom they had to kill; trainer 1 ends, and the program behind it does not."""
    script = """
    stays() { trap '' TERM; echo >output/up.$TRAINING_ROLE; echo up; while :; do sleep 0.02; done; }
    if [ "$PADDLE_TRAINER_ID" = 1 ]; then stays & wait; fi
    stays
    """
    with World() as world:
        words = job(package(script))
        words[words.index("--grace") + 1] = "1"
        started, output = world.start(*words, "--", "./program.sh")
        for key in "ab":
            for role in ["PSERVER", "TRAINER"]:
                until((world.workspace(key) / f"output/up.{role}").exists, f"host{key}: {role}")
        started.send_signal(signal.SIGTERM)
        code = started.wait(timeout=DEADLINE)
        world.nothing_left()
        said = output.read_text(encoding="utf-8")
        for text in [" which has up to 1 s (--grace) for a last checkpoint", "server 0, server 1, trainer 0 and what members had "
                     "started were killed after 1 s of --grace: what they were saving is lost, raise --grace"]:
            if code != 137 or text not in said:
                raise RuntimeError(f"{code}, or {text} is not in {said}")


def run_silent_network():
    """The wire is cut: neither side is told, both find out."""
    global LOST_AFTER  # pylint: disable=global-statement
    LOST_AFTER = "8"
    with World() as world:
        started, output = world.start("--ssh_options=-o ServerAliveInterval=1", "--ssh_options=-o ServerAliveCountMax=2",
                                      *job(package(LASTING)), "--", "./program.sh")
        world.ip(world.names["l"], "link", "set", "tob", "down")
        code = started.wait(timeout=DEADLINE)
        if code != 75 or "the channel to hostb was lost" not in output.read_text(encoding="utf-8"):
            raise RuntimeError(f"{code} {output.read_text(encoding='utf-8')}")
        # sshd itself has not noticed, so its own processes may stay.
        until(lambda: not commands_in(world, "b", "prrun") and not commands_in(world, "b", "sleep"), "hostb: a member is left")
        world.nothing_left("a")


def run_frozen_agent():
    """An agent that hears and does nothing is given up, whatever its sshd answers; its members end once it goes on."""
    global LOST_AFTER  # pylint: disable=global-statement
    LOST_AFTER = "12"
    with World() as world:
        started, output = world.start(*job(package(LASTING)), "--", "./program.sh")
        agents = commands_in(world, "b", "prrun")
        began = time.monotonic()
        for pid in agents:
            os.kill(pid, signal.SIGSTOP)
        code = started.wait(timeout=DEADLINE)
        took = time.monotonic() - began
        text = output.read_text(encoding="utf-8")
        if code != 75 or "nothing was heard from hostb for 12 s: is it overloaded, or gone?" not in text or took < 11:
            raise RuntimeError(f"{code} after {took} s: {text}")
        world.nothing_left("a")
        for pid in agents:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        world.nothing_left("b")


def run_mute_agent():
    """One that never says a word is given up before anything runs."""
    global LOST_AFTER  # pylint: disable=global-statement
    LOST_AFTER = "6"
    with World() as world:
        fake = WORK / "fake"
        fake.write_text(f"#!/bin/sh\n[ $1 = version ] && exec {BIN}/prrun version\nexec sleep 1000\n", encoding="utf-8")
        fake.chmod(0o755)
        ran = world.prrun("--connect_timeout", "4", "--job_dispatch_package", package("exit 0"), "--root_dir", ROOT,
                          "--remote_prrun", fake, "--", "./program.sh")
        expect(ran, 75, r"Starting agents: waiting for hosta, hostb", r"2 of 2 hosts cannot run their part:",
               r"^  hostb: no answer for 10 s")


def run_quiet_job():
    """Members that say nothing for longer than the patience are no sign of a lost host."""
    global LOST_AFTER  # pylint: disable=global-statement
    LOST_AFTER = "3"
    with World() as world:
        expect(world.prrun(*job(package("[ $TRAINING_ROLE = PSERVER ] || sleep 8")), "--", "./program.sh"), 0, "Pod completed")
        world.nothing_left()


def run_shards_and_secrets():
    """Parts of the data, unknown options and variables reach whom they are for, and nobody else."""
    folder = package("""
    if [ $TRAINING_ROLE = TRAINER ]; then
      { cat nodefile data/part; ls; echo "$@"; echo $MY_TOKEN; } >output/seen
      echo up; until [ -e go ]; do sleep 0.05; done
    fi
    """)
    for number in [0, 1]:
        (folder / f"data/{number}").mkdir(parents=True)
        (folder / f"data/{number}/part").write_text(f"rows of {number}\n", encoding="utf-8")
        (folder / f"train.txt-0000{number}").write_text("", encoding="utf-8")
    with World() as world:
        started, output = world.start("--epochs=3", "--env", "MY_TOKEN", "--env", f"OTHER={OTHER}", *job(folder), "--", "./program.sh", "--x", "a b'c")
        shown = "".join(str(commands_in(world, key, "")) for key in "lab")
        (WORK / "all").write_text(shown, encoding="utf-8")
        for key in "ab":
            (world.workspace(key) / "go").touch()
        if started.wait(timeout=DEADLINE) != 0 or SECRET in shown or "ssh" not in shown:
            raise RuntimeError(f"{output.read_text(encoding='utf-8')}\n{shown}")
        if OTHER in output.read_text(encoding="utf-8"):
            raise RuntimeError("the value of a variable is shown")
        if "Passed on to the program: --epochs\n" not in output.read_text(encoding="utf-8"):
            raise RuntimeError(output.read_text(encoding="utf-8"))
        for number, key in enumerate("ab"):
            seen = (world.workspace(key) / "output/seen").read_text(encoding="utf-8")
            if seen != (f"{number}\nrows of {number}\ndata\nlog\nnodefile\noutput\nprogram.sh\ntrain.txt-0000{number}\n"
                        f"--x a b'c --epochs=3\n{SECRET}\n"):
                raise RuntimeError(seen)
        world.nothing_left()


def run_workspace():
    """A workspace that is there already; {node} tells hosts apart that share a folder; ports are the ones asked for."""
    script = "echo $PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_INIT_PSERVERS"
    with World() as world:
        words = ["--job_workspace", f"{ROOT}/mine/{{node}}", "--remote_prrun", BIN / "prrun", "--port", "7164", "--",
                 "sh", "-c", script]
        expect(world.prrun(*words), 78, r"2 of 2 hosts cannot be used", r"hosta: there is no folder '.*/mine/0'")
        for number, key in enumerate("ab"):
            (WORK / key / f"mine/{number}").mkdir(parents=True)
        expect(world.prrun(*words), 0, r"\[trainer 0\] 10.77.0.11:7164,10.77.0.12:7164 10.77.0.11,10.77.0.12")
        expect(world.prrun(*words[:-3], "no-such-program"), 78, r"2 of 2 hosts cannot run their part",
               r"hostb: prdist\[config.missing\] launcher: there is no program 'no-such-program'")
        expect(world.prrun(*words[:2], "--remote_prrun", "/bin/false", "--", "true"), 78, "'/bin/false' is no prrun of version")
        # Servers that never end by themselves, two trainers on one host, and a time limit.
        (WORK / "machines").write_text("root@hosta slots=2\nhostb\n", encoding="utf-8")
        serve = ("[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; echo $PADDLE_TRAINERS_NUM $PADDLE_NNODES; "
                 "echo $PADDLE_INIT_TRAINER_ID >id.$PADDLE_TRAINER_ID")
        expect(world.prrun("--server_grace", "0.2", "--nics", "eth0", *words[:-1], serve), 0, r"^\[trainer 0\] 3 2$",
               r"server 1 +hostb +\d+ +SIGTERM, stopped", r"trainer 2 +root@hosta +\d+ +exit 0 .*log/node_0/workerlog.2$")
        for key, trainer in [("a/mine/0", 0), ("b/mine/1", 1), ("a/mine/0", 2)]:
            if (given := (WORK / key / f"id.{trainer}").read_text(encoding="utf-8")) != f"{trainer}\n":
                raise RuntimeError(f"trainer {trainer} has PADDLE_INIT_TRAINER_ID={given}")
        expect(world.prrun("--timeout", "1", *words[:-3], "sleep", "1000"), 124, "the job passed its time limit")
        expect(world.prrun("--nics", "eth7", *words), 78, r"hostb: .*there is no interface 'eth7' with an address")
        world.nothing_left()


def run_copied_prrun():
    """A prrun that was copied and cannot run there is told from one that can."""
    with World() as world:
        pid = world.sshd["b"].pid
        must("nsenter", "-m", "-t", pid, "mount", "-o", "remount,bind,noexec", ROOT)
        expect(world.prrun("--job_dispatch_package", package("exit 0"), "--root_dir", ROOT, "--", "true"), 78,
               r"1 of 2 hosts cannot run prrun:\n  hostb: the prrun that was copied does not run there, .*Permission denied",
               "name it with --remote_prrun")
        world.nothing_left()


if __name__ == "__main__":
    try:
        if reason := why_not():
            print("skipped:", reason)
            sys.exit(SKIPPED)
        globals()["run_" + sys.argv[2]]()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
