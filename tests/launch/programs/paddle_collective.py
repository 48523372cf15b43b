#!/usr/bin/env python3
"""A small collective program of PaddlePaddle: the processes add their ranks up. Nothing in it knows of prrun."""
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("rank %d of %d: %g" % (dist.get_rank(), dist.get_world_size(), float(total)), flush=True)
