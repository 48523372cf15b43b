# SPDX-License-Identifier: Apache-2.0
"""The scripts that prgen writes: shellcheck reads them, mpirun and prrun run them. What is not installed is named, and
the test is skipped then.

    scripts.py shellcheck GOLDEN_FOLDER
    scripts.py mpirun PRGEN WORK_FOLDER
    scripts.py paddlecloud PRGEN WORK_FOLDER
    scripts.py local PRGEN WORK_FOLDER PRRUN
"""

import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77

PRINTS = 'printf "%s %s %s %s %s\\n" "$TRAINING_ROLE" "${PADDLE_PSERVER_ID-}${PADDLE_TRAINER_ID-}" ' \
         '"$PADDLE_PSERVERS_IP_PORT_LIST" "$PADDLE_TRAINERS_NUM" "$NOTE" >>"$OUT"'


def backend(target, extra=""):
    return f"""engine:
  backend: {target}
  job_name: three
  launcher: none
  command: [sh, -c, '{PRINTS.replace("'", "''")}']
  submit:
    server_num: 1
    trainer_num: 2
    env:
      NOTE: "it's; $HOME `id` two  blanks"
      here: /
      machines: /dev/null
      IFS: "/:"
{extra}"""


def run_shellcheck(golden):
    program = shutil.which("shellcheck")
    if program is None:
        print("skipped: shellcheck is not installed")
        return SKIPPED
    scripts = sorted([*pathlib.Path(golden).glob("*/expected/*.sh"), *pathlib.Path(golden).glob("*/expected.sh")])
    print(f"{len(scripts)} scripts")
    if len(scripts) < 10:
        print("too few: are the golden files there?")
        return 1
    # SC2016: a dollar of the user's in single quotes is meant to stay one.
    return subprocess.run([program, "--exclude=SC2016", *scripts], check=False).returncode


def fresh(work):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def expect(work, endpoints):
    got = sorted((work / "out").read_text(encoding="utf-8").splitlines())
    note = "it's; $HOME `id` two  blanks"
    want = sorted([f"PSERVER 0 {endpoints} 2 {note}", f"TRAINER 0 {endpoints} 2 {note}", f"TRAINER 1 {endpoints} 2 {note}"])
    if endpoints is None:
        want = [line.split(" ")[0:2] for line in want]
        got = [line.split(" ")[0:2] for line in got]
    if got != want:
        print("got:", *got, "want:", *want, sep="\n")
        return 1
    return 0


def run_mpirun(prgen, work):
    if shutil.which("mpirun") is None:
        print("skipped: mpirun is not installed (Debian: openmpi-bin)")
        return SKIPPED
    work = fresh(work)
    (work / "backend.yaml").write_text(backend("mpi", "    hosts: [localhost]\n    port: 7164\n"), encoding="utf-8")
    subprocess.run([prgen, work / "backend.yaml", "-o", "files", "-O", work / "job"], check=True)
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OUT": str(work / "out")}
    subprocess.run([work / "job/run.sh", "-x", "OUT", "--oversubscribe"], check=True, env=environment, timeout=100)
    if expect(work, "localhost:7164"):
        return 1
    # The wrong number of ranks, and no rank at all, are said and end with the contract's codes.
    alone = subprocess.run([work / "job/start.sh"], check=False, capture_output=True, text=True)
    if alone.returncode != 64 or "no rank" not in alone.stderr:
        print("start.sh without a rank:", alone)
        return 1
    few = environment | {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    few = subprocess.run([work / "job/start.sh"], check=False, capture_output=True, text=True, env=few)
    if few.returncode != 64 or "1 servers and 2 trainers" not in few.stderr:
        print("start.sh with too few ranks:", few)
        return 1
    # Without hosts of prgen's the batch system's win, in every run anew; mpirun is a stand-in that says what it got.
    (work / "elsewhere.yaml").write_text(backend("mpi"), encoding="utf-8")
    subprocess.run([prgen, "-q", work / "elsewhere.yaml", "-o", "files", "-O", work / "elsewhere"], check=True)
    (work / "bin").mkdir()
    mpirun = work / "bin/mpirun"
    mpirun.write_text('#!/bin/sh\nfor word in "$@"; do last=$word; done\ncat "$2" "$last"\n', encoding="utf-8")
    mpirun.chmod(0o755)
    batch = environment | {"PATH": f"{work / 'bin'}:{os.environ['PATH']}", "PBS_NODEFILE": str(work / "nodes")}
    (work / "elsewhere/machines").write_text("by-hand\n", encoding="utf-8")
    for node in ["node7", "node8"]:
        (work / "nodes").write_text(f"{node}\n", encoding="utf-8")
        got = subprocess.run([work / "elsewhere/run.sh"], check=True, env=batch, capture_output=True, text=True).stdout
        if got != f"{node}\n{node}\n":
            print("run.sh with $PBS_NODEFILE:", got)
            return 1
    del batch["PBS_NODEFILE"]
    got = subprocess.run([work / "elsewhere/run.sh"], check=True, env=batch, capture_output=True, text=True).stdout
    if got != "by-hand\nby-hand\n":
        print("run.sh without $PBS_NODEFILE:", got)
        return 1
    # Other flavours' ranks and hostfiles: rank 2 of three, on two hosts that take turns.
    (work / "job/machines").write_text("# hosts\nnode1:2\n\nnode2 slots=2\nnode1:2\n", encoding="utf-8")
    (work / "out").unlink()
    pmi = environment | {"PMI_RANK": "2", "PMI_SIZE": "3"}
    subprocess.run([work / "job/start.sh"], check=True, env=pmi)
    line = (work / "out").read_text(encoding="utf-8")
    if not line.startswith("TRAINER 1 node1:7164 2 "):
        print("start.sh by PMI:", line)
        return 1
    return run_shared_host(prgen, fresh(work))


def run_shared_host(prgen, work):
    """Servers on one host keep out of each other's ports, and $(NAME) in a command is the variable."""
    (work / "backend.yaml").write_text(
        "engine:\n  backend: mpi\n  job_name: four\n  launcher: none\n"
        "  command: [echo, $(PADDLE_PSERVERS_IP_PORT_LIST), $(PADDLE_PORT), $(NOWHERE)]\n"
        "  submit: {server_num: 3, trainer_num: 1, port: 7000, ports_num: 2}\n", encoding="utf-8")
    subprocess.run([prgen, work / "backend.yaml", "-o", "files", "-O", work / "job"], check=True)
    environment = os.environ | {"PMI_RANK": "2", "PMI_SIZE": "4"}
    (work / "job/machines").write_text("node1\nnode2\n", encoding="utf-8")
    ran = subprocess.run([work / "job/start.sh"], check=True, env=environment, capture_output=True, text=True)
    if ran.stdout != "node1:7000,node2:7000,node1:7003 7003 $(NOWHERE)\n":
        print("start.sh with a shared host:", ran)
        return 1
    # Hosts that are known late may be too few.
    start = work / "job/start.sh"
    start.write_text(start.read_text(encoding="utf-8").replace("port=7000", "port=65531"), encoding="utf-8")
    ran = subprocess.run([start], check=False, env=environment, capture_output=True, text=True)
    if ran.returncode != 78 or "beyond 65535" not in ran.stderr:
        print("start.sh with too high a port:", ran)
        return 1
    return run_roles(prgen, work)


def run_roles(prgen, work):
    """Each role runs the command that is its own."""
    (work / "roles.yaml").write_text(
        "engine:\n  backend: mpi\n  job_name: roles\n  launcher: none\n  command: [echo, all]\n"
        "  submit: {server_num: 1, trainer_num: 1, hosts: [node1], env: {A: b}, server: {command: [echo, server, $(PADDLE_PSERVER_ID)]}}\n",
        encoding="utf-8")
    subprocess.run([prgen, work / "roles.yaml", "-o", "files", "-O", work / "roles"], check=True)
    for rank, want in [("0", "server 0\n"), ("1", "all\n")]:
        environment = os.environ | {"PMI_RANK": rank, "PMI_SIZE": "2"}
        ran = subprocess.run([work / "roles/start.sh"], check=True, env=environment, capture_output=True, text=True)
        if ran.stdout != want:
            print(f"start.sh of rank {rank} ran the wrong command:", ran)
            return 1
    return 0


def run_paddlecloud(prgen, work):
    """The client is a stand-in that writes down its arguments; keys come from the environment alone."""
    work = fresh(work)
    (work / "bin").mkdir()
    client = work / "bin/paddlecloud"
    client.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$OUT"\n', encoding="utf-8")
    client.chmod(0o755)
    (work / "files").mkdir()
    (work / "files/train.py").write_text("", encoding="utf-8")
    (work / "backend.yaml").write_text("""backend: PaddleCloud
cluster_type: mpi
config: {fs_name: "afs://x", fs_ugi: "file-user,file-password", train_data_path: /t, output_path: /o}
submit: {ak: file-ak, sk: file-sk, job_name: "it's a job", files: ./*.py, nodes: 2}
""", encoding="utf-8")
    subprocess.run([prgen, work / "backend.yaml", "-o", "files", "-O", work / "job"], check=True, stderr=subprocess.DEVNULL)
    written = "".join(path.read_text(encoding="utf-8") for path in sorted((work / "job").iterdir()))
    for secret in ["file-ak", "file-sk", "file-password"]:
        if secret in written:
            print(f"{secret} was written")
            return 1
    environment = os.environ | {"PATH": f"{work / 'bin'}:{os.environ['PATH']}", "OUT": str(work / "out")}
    without = subprocess.run([work / "job/job.sh"], check=False, capture_output=True, text=True, env=environment, cwd=work / "files")
    if without.returncode == 0 or "PADDLECLOUD_AK" not in without.stderr:
        print("job.sh without keys:", without)
        return 1
    environment |= {"PADDLECLOUD_AK": "real ak", "PADDLECLOUD_SK": "sk", "FS_UGI": "me,pw"}
    subprocess.run([work / "job/job.sh"], check=True, env=environment, cwd=work / "files")
    words = (work / "out").read_text(encoding="utf-8").splitlines()
    for flag, value in [("--ak", "real ak"), ("--job-name", "it's a job"), ("--mpi-nodes", "2")]:
        if words[words.index(flag) + 1] != value:
            print("the client was called with", words)
            return 1
    ini = work / "job/config.ini"
    if 'fs_ugi="me,pw"' not in ini.read_text(encoding="utf-8") or ini.stat().st_mode & 0o077:
        print("config.ini lacks the user, or others may read it")
        return 1
    if "./train.py" not in words or any("config.ini" in word for word in words[words.index("--files"):]):
        print("the client was given the files", words)
        return 1
    # A file that others may read, left from elsewhere, does not stay so.
    ini.chmod(0o644)
    subprocess.run([work / "job/job.sh"], check=True, env=environment, cwd=work / "files")
    if ini.stat().st_mode & 0o077:
        print("others may read config.ini of an earlier run")
        return 1
    return 0


def run_local(prgen, work, prrun):
    work = fresh(work)
    (work / "backend.yaml").write_text(backend("local", "    time_limit: 60\n"), encoding="utf-8")
    script = subprocess.run([prgen, "-q", work / "backend.yaml"], check=True, capture_output=True).stdout
    environment = os.environ | {"PATH": f"{pathlib.Path(prrun).parent}:{os.environ['PATH']}", "OUT": str(work / "out")}
    subprocess.run(["sh"], input=script, check=True, env=environment, cwd=work, timeout=100)
    return expect(work, None)


if __name__ == "__main__":
    sys.exit(globals()["run_" + sys.argv[1]](*sys.argv[2:]))
