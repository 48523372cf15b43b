# Every public header, by component. tests/layers.py fails when a header is missing here.
prdist_component(prdist
  HEADERS
    include/prdist/concepts/device.hpp
    include/prdist/concepts/model.hpp
    include/prdist/concepts/policy.hpp
    include/prdist/concepts/strategy.hpp
    include/prdist/concepts/transport.hpp
    include/prdist/core/decl.hpp
    include/prdist/core/endpoint.hpp
    include/prdist/core/environment.hpp
    include/prdist/core/error.hpp
    include/prdist/core/hash.hpp
    include/prdist/core/log.hpp
    include/prdist/core/runtime.hpp
    include/prdist/core/text.hpp
    include/prdist/core/types.hpp
    include/prdist/data.hpp
    include/prdist/data/batch.hpp
    include/prdist/data/counter_random.hpp
    include/prdist/data/line_reader.hpp
    include/prdist/data/metrics.hpp
    include/prdist/data/npy.hpp
    include/prdist/data/planted.hpp
    include/prdist/data/planted_files.hpp
    include/prdist/data/slot_format.hpp
    include/prdist/data/slot_parser.hpp
    include/prdist/data/slot_reader.hpp
    include/prdist/data/split_files.hpp
    include/prdist/device/cpu.hpp
    include/prdist/fleet.hpp
    include/prdist/fleet/distributed_optimizer.hpp
    include/prdist/fleet/fleet.hpp
    include/prdist/fleet/key_index.hpp
    include/prdist/fleet/options.hpp
    include/prdist/fleet/roles.hpp
    include/prdist/fleet/run_main.hpp
    include/prdist/optim/adagrad.hpp
    include/prdist/optim/adam.hpp
    include/prdist/optim/kernel.hpp
    include/prdist/optim/momentum.hpp
    include/prdist/optim/optimizer.hpp
    include/prdist/optim/sgd.hpp
    include/prdist/server/barrier.hpp
    include/prdist/server/catalog.hpp
    include/prdist/server/engine.hpp
    include/prdist/server/server.hpp
    include/prdist/server/trainers.hpp
    include/prdist/strategy/async.hpp
    include/prdist/strategy/sync.hpp
    include/prdist/table/arena.hpp
    include/prdist/table/command.hpp
    include/prdist/table/dense_table.hpp
    include/prdist/table/gathering.hpp
    include/prdist/table/initializer.hpp
    include/prdist/table/placement.hpp
    include/prdist/table/row_block.hpp
    include/prdist/table/shard_group.hpp
    include/prdist/table/sparse_shards.hpp
    include/prdist/table/sparse_table.hpp
    include/prdist/table/spec.hpp
    include/prdist/table/spec_json.hpp
    include/prdist/trainer/client.hpp
    include/prdist/trainer/operation.hpp
    include/prdist/transport/beast.hpp
    include/prdist/transport/memory.hpp
    include/prdist/transport/tcp.hpp
    include/prdist/version.hpp
    include/prdist/wire/buffer.hpp
    include/prdist/wire/channel.hpp
    include/prdist/wire/checksum.hpp
    include/prdist/wire/frame.hpp
    include/prdist/wire/hello.hpp
  IMPL
    include/prdist/server/server.ipp
    include/prdist/server/session.ipp
    include/prdist/table/spec_json.ipp
    include/prdist/trainer/client.ipp
    include/prdist/trainer/link.ipp
    include/prdist/transport/beast.ipp
    include/prdist/transport/frame_stream.ipp
    include/prdist/transport/io_pool.ipp
    include/prdist/transport/sockets.ipp
    include/prdist/transport/tcp.ipp
    include/prdist/wire/hello.ipp
    include/prdist/src.hpp
  LINK Boost::headers Boost::json Threads::Threads xxHash::headers
  FIND "Boost 1.81 COMPONENTS json" "Threads" "xxHash MODULE")
# Kernels keep fixed arithmetic: the same bytes on every machine that runs one build.
target_compile_options(prdist_prdist INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>)

prdist_component(launch
  HEADERS
    include/prdist/launch/console.hpp
    include/prdist/launch/descendants.hpp
    include/prdist/launch/descriptor.hpp
    include/prdist/launch/ending.hpp
    include/prdist/launch/environment.hpp
    include/prdist/launch/guard.hpp
    include/prdist/launch/health.hpp
    include/prdist/launch/identity.hpp
    include/prdist/launch/k8s/pod_plan.hpp
    include/prdist/launch/k8s/pods.hpp
    include/prdist/launch/k8s/pods_json.hpp
    include/prdist/launch/k8s/wait_for_pods.hpp
    include/prdist/launch/local.hpp
    include/prdist/launch/log_tail.hpp
    include/prdist/launch/logs.hpp
    include/prdist/launch/member.hpp
    include/prdist/launch/mpi/hosts.hpp
    include/prdist/launch/mpi/rank_plan.hpp
    include/prdist/launch/node.hpp
    include/prdist/launch/node_plan.hpp
    include/prdist/launch/plan.hpp
    include/prdist/launch/ports.hpp
    include/prdist/launch/process.hpp
    include/prdist/launch/program.hpp
    include/prdist/launch/progress.hpp
    include/prdist/launch/ranks.hpp
    include/prdist/launch/report.hpp
    include/prdist/launch/report_json.hpp
    include/prdist/launch/rules.hpp
    include/prdist/launch/signals.hpp
    include/prdist/launch/summary.hpp
    include/prdist/launch/supervisor.hpp
    include/prdist/launch/termination_log.hpp
    include/prdist/launch/view.hpp
    include/prdist/launch/workspace.hpp
  LINK prdist::prdist)

# Networks on xtensor and BLAS; whoever computes gradients elsewhere does without.
prdist_component(nn
  HEADERS
    include/prdist/nn.hpp
    include/prdist/nn/check_step.hpp
    include/prdist/nn/ctr_dnn.hpp
    include/prdist/nn/deep_fm.hpp
    include/prdist/nn/deep_part.hpp
    include/prdist/nn/factorization.hpp
    include/prdist/nn/fully_connected.hpp
    include/prdist/nn/linear.hpp
    include/prdist/nn/local_trainer.hpp
    include/prdist/nn/logistic_regression.hpp
    include/prdist/nn/matmul.hpp
    include/prdist/nn/matrix.hpp
    include/prdist/nn/mlp.hpp
    include/prdist/nn/pooled_embedding.hpp
    include/prdist/nn/relu.hpp
    include/prdist/nn/row_store.hpp
    include/prdist/nn/sigmoid_cross_entropy.hpp
    include/prdist/nn/xtensor.hpp
  LINK prdist::prdist xtensor OpenBLAS::OpenBLAS
  FIND "xtensor" "OpenBLAS MODULE")

# A GPU to compute on. cuda_kernels.hpp is for one .cu file of a program; the rest of it needs no nvcc.
prdist_component(cuda OPTIONAL
  HEADERS
    include/prdist/device/cuda.hpp
    include/prdist/device/cuda_kernels.hpp
  LINK prdist::prdist CudaRuntime::CudaRuntime
  FIND "CudaRuntime MODULE")
if(TARGET prdist_cuda)
  # The rules are constexpr, not marked for the device; and fixed arithmetic there as on the CPU.
  target_compile_options(prdist_cuda INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;--fmad=false;-Xcompiler=-ffp-contract=off>")
endif()
