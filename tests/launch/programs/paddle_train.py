#!/usr/bin/env python3
"""A small program for PaddlePaddle's own parameter server, as people write them: nothing in it knows of prrun.
Usage: paddle_train.py FILE, lines of "1 label 1 id"."""
import sys

import paddle
from paddle.distributed import fleet

paddle.enable_static()
label = paddle.static.data("label", [None, 1], "int64")
word = paddle.static.data("word", [None, 1], "int64")
row = paddle.static.nn.sparse_embedding(word, size=[100, 8], param_attr=paddle.ParamAttr(name="rows"))
score = paddle.static.nn.fc(paddle.reshape(row, [-1, 8]), 2)
loss = paddle.mean(paddle.nn.functional.cross_entropy(score, label))

fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
fleet.distributed_optimizer(paddle.optimizer.Adam(0.05, lazy_mode=True), strategy).minimize(loss)

if fleet.is_server():
    fleet.init_server()
    fleet.run_server()  # which never returns, also when all workers have stopped
    sys.exit(0)

executor = paddle.static.Executor(paddle.CPUPlace())
executor.run(paddle.static.default_startup_program())
fleet.init_worker()
data = paddle.distributed.QueueDataset()
data.init(batch_size=32, thread_num=1, use_var=[label, word], pipe_command="cat")
data.set_filelist([sys.argv[1]])
for epoch in range(3):
    executor.train_from_dataset(paddle.static.default_main_program(), data, thread=1, fetch_list=[loss],
                                fetch_info=["loss"], print_period=1)
fleet.stop_worker()
print("trainer %d of %d has trained" % (fleet.worker_index(), fleet.worker_num()), flush=True)
