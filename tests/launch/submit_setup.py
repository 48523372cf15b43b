# SPDX-License-Identifier: Apache-2.0
"""What tests of submitted jobs share: in place of a cluster stands a kubectl that notes how it was called and answers from
a table."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
DEADLINE = 100
BIN = pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(tempfile.mkdtemp(prefix="prdist-submit-"))
failures = []

STAND_IN = """#!PYTHON
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
words = [word for word in sys.argv[1:] if not word.startswith("--request-timeout")]
text = sys.stdin.read() if "--filename=-" in words else ""
with open(os.path.join(folder, "calls"), "a", encoding="utf-8") as calls:
    calls.write(json.dumps({"words": words, "input": text}) + "\\n")
line = " ".join(words)
for part, code, out, errors in json.load(open(os.path.join(folder, "answers"), encoding="utf-8")):
    if part in line:
        sys.stdout.write(out)
        sys.stderr.write(errors)
        sys.exit(code)
sys.stderr.write("error: the stand-in has no answer to: " + line + "\\n")
sys.exit(1)
"""

VERSION = json.dumps({"clientVersion": {"gitVersion": "v1.32.4"},
                      "serverVersion": {"major": "1", "minor": "33+", "gitVersion": "v1.33.1"}})
QUEUES = json.dumps({"items": [{"metadata": {"name": "default"}, "status": {"state": "Open"}},
                               {"metadata": {"name": "research"}, "status": {"state": "Open"}},
                               {"metadata": {"name": "closed"}, "status": {"state": "Closed"}}]})
KINDS = "jobs.batch\njobs.batch.volcano.sh\npaddlejobs.batch.paddlepaddle.org\n"
GOOD = [["version", 0, VERSION, ""], ["config view", 0, "", ""], ["get namespace", 0, "namespace/x\n", ""],
        ["--api-group", 0, KINDS, ""], ["api-resources", 0, KINDS, ""], ["queues", 0, QUEUES, ""],
        ["go-template", 0, "password\n", ""], ["get secret", 0, "secret/x\n", ""], ["get configmap", 0, "configmap/x\n", ""],
        ["get persistentvolumeclaim", 0, "persistentvolumeclaim/x\n", ""], ["get priorityclass", 0, "priorityclass/x\n", ""],
        ["get serviceaccount", 0, "serviceaccount/x\n", ""], ["can-i", 0, "yes\n", ""], ["get --filename=-", 0, "", ""],
        ["--dry-run=server", 0, "job.batch/ctr\n", ""], ["create", 0, "serviceaccount/ctr\njob.batch/ctr\n", ""],
        ["delete", 0, 'job.batch "ctr" deleted\n', ""], ["wait", 0, "", ""]]

BACKEND = """engine:
  backend: BACKEND
  job_name: ctr
  command: [./train, --epochs, "3"]
  submit:
    server_num: 2
    trainer_num: 2
    docker_image: hub.example.com/ctr:1.0
"""
EVERYTHING = """    queue: research
    image_pull_secrets: [hub]
    service_account: trainer
    priority_class: batch
    secrets: [{env: FS_PASSWORD, secret: fs, key: password}]
    volumes: [{name: data, mount: /data, pvc: clicks}, {name: words, mount: /words, config_map: words}]
"""
REFUSED = "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?\n"
NOT_FOUND = 'Error from server (NotFound): it "x" not found\n'
FORBIDDEN = 'Error from server (Forbidden): it is forbidden: User "someone" cannot get resource\n'


def check(good, *what):
    if not good:
        failures.append(" ".join(str(each) for each in what))


def has(text, part, *more):
    check(part in text, "missing:", repr(part), "in:\n" + text, *more)


def stand_in(*answers):
    """A folder with a kubectl whose answers are these, and then the good ones."""
    folder = WORK / "kubectl_folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "kubectl").write_text(STAND_IN.replace("PYTHON", sys.executable), encoding="utf-8")
    (folder / "kubectl").chmod(0o755)
    (folder / "answers").write_text(json.dumps([*answers, *GOOD]), encoding="utf-8")
    return folder


def calls(folder):
    path = folder / "calls"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def backend(name, more=""):
    (WORK / "backend.yaml").write_text(BACKEND.replace("BACKEND", name) + more, encoding="utf-8")


def prrun(*words, path=None, **variables):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PADDLE", "TRAINING_", "OMPI_", "PRDIST_", "KUBE", "FS_UGI", "PBS_"))}
    kept |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | variables
    if path is not None:
        kept["PATH"] = f"{path}:/usr/bin:/bin" if path != "" else "/nowhere"
    return subprocess.run([BIN / "prrun", *words], cwd=WORK, env=kept, capture_output=True, text=True, check=False,
                          timeout=DEADLINE, stdin=subprocess.DEVNULL)


def ended(ran, code):
    check(ran.returncode == code, "code", ran.returncode, "and not", code, ran.stdout, ran.stderr)


def main(cases):
    """Runs the case that the command line names, of a module's own."""
    try:
        code = cases["run_" + sys.argv[2]]() or 0
        print(*failures, sep="\n----\n")
        sys.exit(1 if failures else code)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
