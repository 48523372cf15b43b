#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From Paddle and back, with whole jobs on both sides. What is not at hand is named, and the test is skipped then.

    paddle_jobs.py BIN_DIR PROGRAMS_DIR imported|imported_adagrad|exported

imported: tables that real Paddle saved (PRDIST_PADDLE_SAMPLES) predict the same in a job here, and train on.
imported_adagrad: a table of another rule trains on by that rule.
exported: what a job here has learned predicts the same in a job of real Paddle (PADDLE_PYTHON, a python that has
paddlepaddle 2.6), which goes on training with the optimizer's state.
"""

import glob
import gzip
import math
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

SKIPPED = 77
DEADLINE = 200
BIN, PROGRAMS, CASE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(tempfile.mkdtemp(prefix="prdist-paddle-"))
HIDDEN = ["8", "4"]


def clean():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "TRAINING_"))}
    return kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def run(*command):
    done = subprocess.run([str(each) for each in command], cwd=WORK, env=clean(), text=True, timeout=DEADLINE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("$", *command, "\n" + done.stdout, flush=True)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}"
    return done.stdout


def job(servers, *command):
    return run(BIN / "prrun", "--server_num", servers, "--trainer_num", "1", "--log_dir", "log", "--", *command)


def numbers(path):
    return [float(line) for line in (WORK / path).read_text(encoding="utf-8").split()]


def close(found, expected, most):
    assert len(found) == len(expected) > 0, (len(found), len(expected))
    worst = max(abs(a - b) for a, b in zip(found, expected))
    print("largest difference of", len(found), "predictions:", worst, flush=True)
    assert worst < most, worst


def sample_of(name):
    """What Paddle saved under this name; None, with a word about it, when it is not here."""
    samples = pathlib.Path(os.environ.get("PRDIST_PADDLE_SAMPLES", HERE.parents[2] / "shared/peers/paddle/ckpt_sample"))
    if (samples / name).exists():
        return samples / name
    print("skipped: no checkpoint of Paddle at hand; set PRDIST_PADDLE_SAMPLES to the folder of", name)
    return None


def imported_adagrad():
    sample = sample_of("probe/adagrad/persistables_mode0")
    if not sample:
        return SKIPPED
    run(BIN / "prckpt", "from-paddle", sample, "ckpt", "--rule", "adagrad", "--no-dense")
    before = run(BIN / "prckpt", "show", "ckpt", "--key", "301")
    run(BIN / "prdata", "--out", "data", "--rows", "2000", "--test-rows", "500")
    train = [BIN / "ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", *HIDDEN, "--dim", "4",
             "--save_dir", "ckpt", "--resume"]
    job(2, *train, "--optimizer", "row_adagrad", "--dense_optimizer", "adam")
    assert "resumed from ckpt/pass-00000" in (WORK / "log/workerlog.0").read_text(encoding="utf-8")
    after = run(BIN / "prckpt", "show", "ckpt", "--key", "301")
    assert "pass-00001" in after and "row_adagrad" in before and "row_adagrad" in after, (before, after)
    return 0


def imported():
    sample = sample_of("ctr_dnn_dim9_adam")
    if not sample:
        return SKIPPED
    run(BIN / "prckpt", "from-paddle", sample / "persistables", "ckpt", "--hidden", *HIDDEN)
    for servers in (1, 3):
        job(servers, PROGRAMS / "predict_rows", "ckpt", sample / "test_rows.txt", "pred.txt", *HIDDEN)
        close(numbers("pred.txt"), numbers(sample / "pred.txt"), 1e-6)
    run(BIN / "prdata", "--out", "data", "--rows", "2000", "--test-rows", "500")
    job(2, BIN / "ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", *HIDDEN, "--save_dir", "ckpt",
        "--resume")
    assert "resumed from ckpt/pass-00000, step 6" in (WORK / "log/workerlog.0").read_text(encoding="utf-8")
    assert "pass-00001" in run(BIN / "prckpt", "list", "ckpt")
    return 0


def paddle_job(python, *arguments, servers=2):
    """Real Paddle's servers do not end by themselves: they are asked to by its worker, and ended by pid at last."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(servers + 1)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    common = clean() | {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(f"127.0.0.1:{port}" for port in ports[:servers]),
        "PADDLE_TRAINER_ENDPOINTS": f"127.0.0.1:{ports[servers]}", "PADDLE_TRAINERS_NUM": "1", "POD_IP": "127.0.0.1",
        "PADDLE_WITH_GLOO": "1", "PADDLE_GLOO_RENDEZVOUS": "2", "PADDLE_GLOO_FS_PATH": str(WORK / "gloo")}
    command = [python, str(HERE / "programs/paddle_peer.py"), *[str(each) for each in arguments]]
    started, logs = [], []
    try:
        for index in range(servers + 1):
            role = {"TRAINING_ROLE": "PSERVER" if index < servers else "TRAINER", "PADDLE_PORT": str(ports[index])}
            logs.append(open(WORK / f"paddle.{index}.log", "w+", encoding="utf-8"))
            started.append(subprocess.Popen(command, cwd=WORK, env=common | role | {"PADDLE_TRAINER_ID": "0"},
                                            stdout=logs[-1], stderr=subprocess.STDOUT))
        code = started[-1].wait(timeout=DEADLINE)
    finally:
        for each in started:
            if each.poll() is None:
                each.kill()
                each.wait()
    for each in logs:
        each.seek(0)
        print("==", each.name, "\n" + each.read()[-3000:], flush=True)
    assert code == 0, f"Paddle's worker ended with {code}"


def table(folder):
    """Rows of a table by key, as text has them."""
    rows = {}
    for path in glob.glob(str(WORK / folder / "part-*")):
        for line in gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8"):
            key, *fields = line.split()
            rows[int(key)] = [float(each) for each in fields]
    return rows


def went_on(before, after, rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Paddle's Adam took one step from the state it was given: the gradient shows in m, and v and w have to agree."""
    checked = 0
    for key, old in before.items():
        new = after.get(key)
        if new is None or math.isclose(old[8], new[8], rel_tol=1e-4):
            continue  # not in the batch
        # slot unseen delta show click, embed_w m v powers, embedx_w*8 m*8 v*8 powers
        for w, m, v, power in [(5, 6, 7, 8)] + [(10 + i, 18 + i, 26 + i, 34) for i in range(8)]:
            assert math.isclose(new[power], old[power] * beta1, rel_tol=1e-5), (key, old[power], new[power])
            assert math.isclose(new[power + 1], old[power + 1] * beta2, rel_tol=1e-5), key
            gradient = (new[m] - beta1 * old[m]) / (1 - beta1)
            squared = beta2 * old[v] + (1 - beta2) * gradient * gradient
            noise = 1e-5 * abs(new[m]) / (1 - beta1)  # six digits
            assert math.isclose(new[v], squared, rel_tol=1e-4, abs_tol=(1 - beta2) * (2 * abs(gradient) + noise) * noise)
            step = rate * math.sqrt(1 - old[power + 1]) / (1 - old[power]) * new[m] / (math.sqrt(new[v]) + epsilon)
            assert math.isclose(new[w], old[w] - step, rel_tol=2e-5, abs_tol=1e-8 + 1e-3 * abs(step)), (key, w)
            checked += 1
    print("elements that went on by Paddle's own formula:", checked, flush=True)
    assert checked > 0


def exported():
    python = os.environ.get("PADDLE_PYTHON")
    if not python:
        print("skipped: no Paddle at hand; set PADDLE_PYTHON to a python that has paddlepaddle 2.6")
        return SKIPPED
    run(BIN / "prdata", "--out", "data", "--rows", "3000", "--test-rows", "500", "--files", "1")
    job(2, BIN / "ctr_dnn", "--train", "data/train", "--test", "data/test", "--hidden", *HIDDEN, "--batch_size", "64",
        "--epochs", "3", "--rate", "0.01", "--save_dir", "ckpt")
    run(BIN / "prckpt", "to-paddle", "ckpt", "tables", "--shards", "4", "--servers", "2", "--hidden", *HIDDEN)
    # All their keys are in the table: what a new key gets is each side's own matter.
    with open(WORK / "data/train/part-000", encoding="utf-8") as file:
        (WORK / "rows").write_text("".join(line for line, _ in zip(file, range(64))), encoding="utf-8")
    job(3, PROGRAMS / "predict_rows", "ckpt", "rows", "here.txt", *HIDDEN)
    paddle_job(python, WORK / "tables", WORK / "rows", WORK / "there.txt", WORK / "saved", 4, *HIDDEN)
    for loaded in ("there.txt.init_server", "there.txt"):
        close(numbers(loaded), numbers("here.txt"), 1e-6)
    went_on(table("tables/000"), table("saved/000"))
    run(BIN / "prckpt", "from-paddle", "saved", "back", "--hidden", *HIDDEN)
    return 0


try:
    CODE = {"imported": imported, "imported_adagrad": imported_adagrad, "exported": exported}[CASE]()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
sys.exit(CODE)
