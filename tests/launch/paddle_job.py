#!/usr/bin/env python3
"""Real PaddlePaddle 2.6.2 programs under prrun. Usage: paddle_job.py PRRUN ps|collective
The Python that has paddle is $PADDLE_PYTHON, or else the python3 that runs this. Without paddle: code 77, skipped."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

PRRUN, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
PYTHON = os.environ.get("PADDLE_PYTHON") or sys.executable
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
DEADLINE = 240
WORK = tempfile.mkdtemp(prefix="prdist-paddle-")


def has_paddle():
    """Importing it takes seconds, so only the package is looked for."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('paddle') is None)"
    try:
        return subprocess.run([PYTHON, "-c", look], stderr=subprocess.DEVNULL, timeout=60).returncode == 0
    except OSError:
        return False


def run(*arguments):
    command = [PRRUN, "--timeout", str(DEADLINE), *arguments]
    begun = time.monotonic()
    job = subprocess.run(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=DEADLINE + 60)
    print("%s ended with %d after %.1f s" % (CASE, job.returncode, time.monotonic() - begun))
    return job.returncode, job.stdout


def expect(condition, output):
    if not condition:
        print(output)
        raise AssertionError(CASE)


def log(name):
    with open(os.path.join(WORK, "log", name), encoding="utf-8", errors="replace") as file:
        return file.read()


def ps():
    """It trains unchanged; the job ends with 0 although Paddle's server never ends by itself."""
    words = random.Random(1)
    with open(os.path.join(WORK, "data.txt"), "w", encoding="utf-8") as file:
        for _ in range(2000):
            word = words.randrange(100)
            file.write("1 %d 1 %d\n" % (word % 2, word))
    code, output = run("--server_num", "1", "--trainer_num", "1", "--server_grace", "1", "--", PYTHON,
                       os.path.join(PROGRAMS, "paddle_train.py"), "data.txt")
    expect(code == 0, output)
    losses = [float(loss) for loss in re.findall(r"loss\[1\]:\[([-+.e\d]+)\]", log("workerlog.0"))]
    expect(len(losses) == 3 * 63, output)
    print("loss from %.4f to %.4f" % (losses[0], losses[-1]))
    expect(losses[0] > 0.5 and losses[-1] < 0.05, output)
    expect("[trainer 0] trainer 0 of 1 has trained" in output, output)
    expect(re.search(r"server 0 +\d+ +SIGTERM, stopped", output), output)


def collective():
    """Its processes find each other where prrun says."""
    code, output = run("--nproc_per_node", "2", "--", PYTHON, os.path.join(PROGRAMS, "paddle_collective.py"))
    expect(code == 0, output)
    for rank in (0, 1):
        expect("rank %d of 2: 3" % rank in log("workerlog.%d" % rank), output + log("workerlog.%d" % rank))


if __name__ == "__main__":
    if not has_paddle():
        print("skipped: '%s' has no paddle; name a Python that has paddlepaddle 2.6.2 with PADDLE_PYTHON" % PYTHON)
        sys.exit(77)
    {"ps": ps, "collective": collective}[CASE]()
    shutil.rmtree(WORK, ignore_errors=True)
