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
    include/prdist/launch/local.hpp
    include/prdist/launch/log_tail.hpp
    include/prdist/launch/logs.hpp
    include/prdist/launch/member.hpp
    include/prdist/launch/plan.hpp
    include/prdist/launch/ports.hpp
    include/prdist/launch/process.hpp
    include/prdist/launch/program.hpp
    include/prdist/launch/progress.hpp
    include/prdist/launch/report.hpp
    include/prdist/launch/report_json.hpp
    include/prdist/launch/rules.hpp
    include/prdist/launch/signals.hpp
    include/prdist/launch/summary.hpp
    include/prdist/launch/supervisor.hpp
    include/prdist/launch/view.hpp
  LINK prdist::prdist)
