#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a job of real Paddle: loads tables, predicts rows, trains one batch of them, saves. Its role comes from
the environment, as Paddle's role maker reads it. For a Python that has paddlepaddle 2.6.

    paddle_peer.py LOAD ROWS PREDICTIONS SAVE SHARDS HIDDEN...
"""

import sys

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
from paddle.distributed.ps.utils.public import get_the_one_recv_context

LOAD, ROWS, PREDICTIONS, SAVE, SHARDS = sys.argv[1:6]
HIDDEN = [int(size) for size in sys.argv[6:]]
DIM, SLOTS, DENSE = 9, 26, 13

paddle.enable_static()
label = paddle.static.data("click", [None, 1], "int64")
dense = paddle.static.data("dense_feature", [None, DENSE], "float32")
slots = [paddle.static.data(str(i + 1), [None, 1], "int64") for i in range(SLOTS)]
table = paddle.ParamAttr(name="Embedding", initializer=paddle.nn.initializer.Uniform(-0.01, 0.01))
embedded = [paddle.reshape(paddle.static.nn.sparse_embedding(slot, size=[1000001, DIM], param_attr=table), [-1, DIM])
            for slot in slots]
x = paddle.concat(embedded + [dense], axis=1)
for layer, size in enumerate(HIDDEN):
    x = paddle.static.nn.fc(x, size, activation="relu", name=f"fc{layer}")
logits = paddle.static.nn.fc(x, 2, name="fc_out")
predicted = paddle.nn.functional.softmax(logits)
loss = paddle.mean(paddle.nn.functional.cross_entropy(logits, label))

fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
config = strategy.sparse_table_configs.add()
config.table_name, config.table_class, config.shard_num = "Embedding", "MemorySparseTable", int(SHARDS)
fleet.distributed_optimizer(paddle.optimizer.Adam(0.001, lazy_mode=True), strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server(LOAD)  # sparse tables alone; the worker loads all of them, below
    fleet.run_server()
    sys.exit(0)

main = loss.block.program
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
fleet.init_worker()
runtime = fleet.fleet._runtime_handle

rows = [[field.partition(":")[2] for field in line.split()] for line in open(ROWS, encoding="utf-8")]
feed = {"click": np.array([row[:1] for row in rows], np.int64),
        "dense_feature": np.array([row[1:1 + DENSE] for row in rows], np.float32)}
for slot in range(SLOTS):
    feed[str(slot + 1)] = np.array([[row[1 + DENSE + slot]] for row in rows], np.int64)
inputs = {name: values for name, values in feed.items() if name != "click"}
forward = main.clone(for_test=True)._prune_with_input(list(inputs), [predicted])
for load, file in [(lambda: fleet.load_one_table(1, LOAD, 0), PREDICTIONS + ".init_server"),
                   (lambda: fleet.load_model(LOAD, mode=0), PREDICTIONS)]:
    load()
    runtime._pull_all_dense(runtime.scopes, runtime._send_ctx, get_the_one_recv_context(runtime.context))
    np.savetxt(file, exe.run(forward, feed=dict(inputs), fetch_list=[predicted.name])[0][:, 1], fmt="%.9g")

exe.run(main, feed=feed, fetch_list=[loss])
runtime._worker.client_flush()
fleet.save_persistables(exe, SAVE)
runtime._worker.stop_server()
fleet.stop_worker()
