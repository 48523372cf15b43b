#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's network on PaddlePaddle 2.6.2: --mode local in this process, --mode async as one server and one trainer.

Writes {"examples_per_second": N} to --result. Without a role in the environment it starts both roles and waits.
"""
import argparse
import glob
import json
import os
import socket
import subprocess
import sys
import time

options = argparse.ArgumentParser()
options.add_argument("--mode", choices=["local", "async"], required=True)
options.add_argument("--data", required=True)
options.add_argument("--result", required=True)
given = options.parse_args()

DIM, HIDDEN, KEYS, BATCH = 9, [400, 400, 400], 1000001, 512


def prepared(folder):
    """The rows in Paddle's own text, made before the clock starts: for each input how many values, then the values."""
    files, rows = [], 0
    os.makedirs(given.result + ".data", exist_ok=True)
    for source in sorted(glob.glob(os.path.join(folder, "part-*"))):
        files.append(os.path.join(given.result + ".data", os.path.basename(source)))
        with open(source) as read, open(files[-1], "w") as write:
            for line in read:
                values = [field.partition(":")[2] for field in line.split()]
                print("1", values[0], "13", *values[1:14], *("1 " + key for key in values[14:40]), file=write)
                rows += 1
    return files, rows


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_both():
    server, trainer = free_port(), free_port()
    shared = dict(os.environ, PADDLE_PSERVERS_IP_PORT_LIST=f"127.0.0.1:{server}", PADDLE_TRAINERS_NUM="1",
                  PADDLE_TRAINER_ENDPOINTS=f"127.0.0.1:{trainer}", POD_IP="127.0.0.1", PADDLE_WITH_GLOO="0",
                  OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    serving = subprocess.Popen([sys.executable, *sys.argv],
                               env=dict(shared, TRAINING_ROLE="PSERVER", PADDLE_PORT=str(server)))
    try:
        return subprocess.run([sys.executable, *sys.argv], timeout=200, env=dict(
            shared, TRAINING_ROLE="TRAINER", PADDLE_PORT=str(trainer), PADDLE_TRAINER_ID="0")).returncode
    finally:
        serving.kill()  # Paddle's servers do not end with their trainers
        serving.wait()


def train():
    import paddle
    import paddle.distributed.fleet as fleet

    paddle.enable_static()
    paddle.seed(1)
    normal = paddle.nn.initializer.Normal
    label = paddle.static.data("click", [None, 1], "int64")
    dense = paddle.static.data("dense", [None, 13], "float32")
    slots = [paddle.static.data(f"slot{i}", [None, 1], "int64") for i in range(26)]
    attributes = paddle.ParamAttr(name="embedding", initializer=paddle.nn.initializer.Uniform(-0.01, 0.01))

    def embed(slot):
        if given.mode == "local":
            row = paddle.static.nn.embedding(slot, size=[KEYS, DIM], is_sparse=True, param_attr=attributes)
        else:
            row = paddle.static.nn.sparse_embedding(slot, size=[KEYS, DIM], param_attr=attributes)
        return paddle.reshape(row, [-1, DIM])

    x = paddle.concat([embed(slot) for slot in slots] + [dense], axis=1)
    width = 26 * DIM + 13
    for size in HIDDEN:
        x = paddle.static.nn.fc(x, size, activation="relu",
                                weight_attr=paddle.ParamAttr(initializer=normal(std=width ** -0.5)))
        width = size
    logits = paddle.static.nn.fc(x, 2)
    loss = paddle.mean(paddle.nn.functional.cross_entropy(logits, label))

    optimizer = paddle.optimizer.Adam(1e-3, lazy_mode=True)
    if given.mode == "async":
        fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
        strategy = fleet.DistributedStrategy()
        strategy.a_sync = True
        optimizer = fleet.distributed_optimizer(optimizer, strategy)
    optimizer.minimize(loss)
    if given.mode == "async" and fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return

    program = loss.block.program if given.mode == "async" else paddle.static.default_main_program()
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    if given.mode == "async":
        fleet.init_worker()
    files, rows = prepared(given.data)
    start = time.time()
    reader = paddle.distributed.QueueDataset()
    reader.init(batch_size=BATCH, thread_num=1, use_var=[label, dense, *slots], input_type=0,
                pipe_command="cat")
    reader.set_filelist(files)
    executor.train_from_dataset(program, reader, print_period=1 << 30)
    rate = rows / (time.time() - start)
    if given.mode == "async":
        fleet.stop_worker()
    with open(given.result, "w") as file:
        json.dump({"examples_per_second": rate}, file)


if given.mode == "async" and "TRAINING_ROLE" not in os.environ:
    sys.exit(start_both())
else:
    train()
