# Every public header, by component. tests/layers.py fails when a header is missing here.
prdist_component(prdist
  HEADERS
    include/prdist/version.hpp
    include/prdist/core/endpoint.hpp
    include/prdist/core/error.hpp
    include/prdist/core/hash.hpp
    include/prdist/core/log.hpp
    include/prdist/core/text.hpp
    include/prdist/core/types.hpp
    include/prdist/optim/adagrad.hpp
    include/prdist/optim/adam.hpp
    include/prdist/optim/momentum.hpp
    include/prdist/optim/optimizer.hpp
    include/prdist/optim/sgd.hpp
    include/prdist/table/initializer.hpp
    include/prdist/table/spec.hpp
    include/prdist/concepts/model.hpp
    include/prdist/data/batch.hpp
    include/prdist/data/counter_random.hpp
    include/prdist/data/line_reader.hpp
    include/prdist/data/metrics.hpp
    include/prdist/data/planted.hpp
    include/prdist/data/planted_files.hpp
    include/prdist/data/slot_format.hpp
    include/prdist/data/slot_parser.hpp
    include/prdist/data/slot_reader.hpp
    include/prdist/data/split_files.hpp
  LINK Boost::headers Boost::json Threads::Threads xxHash::headers)
# Kernels keep fixed arithmetic: the same bytes on every machine that runs one build.
target_compile_options(prdist_prdist INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>)

# Networks on xtensor and BLAS; whoever computes gradients elsewhere does without.
option(PRDIST_NN "Provide prdist::nn (needs xtensor and OpenBLAS)" ON)
if(PRDIST_NN)
  find_package(xtensor REQUIRED)
  find_package(OpenBLAS REQUIRED)
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
    LINK prdist::prdist xtensor OpenBLAS::OpenBLAS)
endif()
