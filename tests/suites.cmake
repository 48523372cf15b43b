prdist_test(core THREADS)
prdist_test(optim)
target_compile_definitions(test_optim PRIVATE PRDIST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
prdist_test(table)
prdist_test(wire THREADS)
prdist_test(concepts)
prdist_test(checkpoint)
target_compile_definitions(test_checkpoint PRIVATE PYTHON_PROGRAM="${Python3_EXECUTABLE}"
  READ_NPZ_SCRIPT="${CMAKE_CURRENT_SOURCE_DIR}/checkpoint/read_npz.py")
if(TARGET prckpt)
  target_sources(test_checkpoint PRIVATE tools/prckpt.cpp)
  target_compile_definitions(test_checkpoint PRIVATE PRCKPT_PROGRAM="$<TARGET_FILE:prckpt>")
  add_dependencies(test_checkpoint prckpt)
endif()
prdist_test(device SOURCES device/cpu.cpp)
if(TARGET prdist::cuda)
  # By the C++ compiler, on Thrust's host system: what is tested is all of it but the launches.
  target_sources(test_device PRIVATE device/cuda.cpp device/cuda_in_fleet.cpp device/cuda_kernels.cpp)
  set_source_files_properties(device/cuda.cpp device/cuda_in_fleet.cpp device/cuda_kernels.cpp PROPERTIES
    COMPILE_DEFINITIONS THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP)
  target_link_libraries(test_device PRIVATE prdist::cuda)
endif()
prdist_test(strategy)
prdist_test(fleet SOURCES fleet/batch_feed.cpp fleet/key_index.cpp fleet/options.cpp fleet/roles.cpp)
prdist_test(data
  SOURCES data/batch.cpp data/counter_random.cpp data/deal.cpp data/epoch_order.cpp data/line_reader.cpp data/metrics.cpp
    data/npy.cpp data/planted.cpp data/planted_files.cpp data/position.cpp data/slot_format.cpp data/slot_parser.cpp data/slot_reader.cpp data/split_files.cpp)
if(TARGET prdata)
  target_sources(test_data PRIVATE data/prdata.cpp)
  target_compile_definitions(test_data PRIVATE PRDATA_PROGRAM="$<TARGET_FILE:prdata>")
  add_dependencies(test_data prdata)
endif()
prdist_test(transport THREADS
  SOURCES transport/beast.cpp transport/every_transport.cpp transport/memory.cpp transport/tcp.cpp)
if(TARGET prdist::nn)
  prdist_test(nn
    SOURCES nn/allocation_count.cpp nn/blas_threads.cpp nn/check_gradients.cpp nn/check_step.cpp nn/ctr_dnn.cpp nn/custom_net.cpp
      nn/deep_fm.cpp nn/deep_part.cpp nn/factorization.cpp nn/fully_connected.cpp nn/linear.cpp nn/local_trainer.cpp
      nn/logistic_regression.cpp nn/matmul.cpp nn/matrix.cpp nn/mlp.cpp nn/paddle_checkpoint.cpp nn/pooled_embedding.cpp nn/relu.cpp
      nn/row_store.cpp nn/sigmoid_cross_entropy.cpp nn/xtensor.cpp
    LINK prdist::nn TIMEOUT 300)
  # Optional: what real Paddle saved, beside the tree. Without it that one test is skipped.
  target_compile_definitions(test_nn PRIVATE
    PADDLE_SAMPLES="${PROJECT_SOURCE_DIR}/../shared/peers/paddle/ckpt_sample")
  add_test(NAME nn.BlasThreads.Environment COMMAND test_nn --gtest_filter=BlasThreads.AreOne*)
  set_tests_properties(nn.BlasThreads.Environment PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=2 TIMEOUT 60)
  find_package(xtensor-blas QUIET)
  if(xtensor-blas_FOUND)
    target_sources(test_nn PRIVATE nn/beside_xtensor_blas.cpp)
    target_link_libraries(test_nn PRIVATE xtensor-blas)
  endif()
endif()
prdist_test(cluster THREADS
  SOURCES fleet/all_reduce.cpp fleet/checkpointer.cpp fleet/dispatched_files.cpp fleet/distributed_optimizer.cpp
    fleet/elastic_checkpoints.cpp fleet/fleet.cpp fleet/flight.cpp
    fleet/geo_copy.cpp fleet/trainer_lane.cpp fleet/model_tables.cpp fleet/own_copy.cpp fleet/run_main.cpp fleet/split_step.cpp
    fleet/standalone_server.cpp fleet/strategy_models.cpp
  TIMEOUT 300)

prdist_test(server THREADS)
prdist_test(trainer THREADS)
