# Suites of prrun and prgen. Both are much to compile, so `./dev test` takes them as users build them.
# Their own files are not optimized; what they test is, in the programs.
if(TARGET prrun)
  find_package(OpenSSL QUIET)
  add_executable(launch_probe launch/programs/probe.cpp)
  target_link_libraries(launch_probe PRIVATE prdist::launch)
  add_executable(launch_foreign launch/programs/foreign.cpp)
  prdist_test(launch TIMEOUT 60
    SOURCES
      launch/board.cpp launch/cards.cpp launch/command.cpp launch/configuration.cpp launch/connections.cpp
      launch/console.cpp launch/copy_folder.cpp
      launch/daemon.cpp launch/descendants.cpp launch/early_servers.cpp
      launch/ending.cpp launch/environment.cpp launch/guard.cpp launch/guard_signals.cpp launch/health.cpp launch/identity.cpp
      launch/k8s/job_state.cpp launch/k8s/job_state_json.cpp
      launch/k8s/objects_json.cpp launch/k8s/pod_plan.cpp launch/k8s/pods.cpp launch/k8s/pods_json.cpp
      launch/k8s/wait_for_pods.cpp launch/ledger.cpp
      launch/listed.cpp launch/listed_wait.cpp launch/local.cpp launch/local_ending.cpp launch/local_logs.cpp
      launch/local_plan.cpp launch/log_files.cpp launch/log_tail.cpp launch/logs.cpp launch/member.cpp
      launch/mpi/hosts.cpp launch/mpi/rank_plan.cpp launch/node.cpp launch/node_plan.cpp launch/out_of_memory.cpp launch/own_host.cpp
      launch/pid_file.cpp launch/plan.cpp launch/ports.cpp launch/printable.cpp launch/process.cpp launch/program.cpp launch/progress.cpp launch/prrun.cpp
      launch/prrun/commands.cpp launch/prrun/job_flags.cpp launch/prrun/k8s_copy.cpp launch/prrun/killed_share.cpp
      launch/prrun/mpi.cpp launch/prrun/probe.cpp
      launch/prrun/ssh.cpp launch/ranks.cpp launch/report.cpp launch/report_json.cpp launch/rules.cpp
      launch/secret_names.cpp launch/shown_command_line.cpp launch/signal_echo.cpp launch/signals.cpp
      launch/ssh/command.cpp launch/ssh/hosts.cpp launch/ssh/line_buffer.cpp launch/ssh/messages_json.cpp
      launch/ssh/package.cpp launch/ssh/placement.cpp launch/ssh/tar.cpp launch/summary.cpp launch/supervisor.cpp launch/sweeper.cpp
      launch/termination_log.cpp launch/tries.cpp launch/view.cpp launch/workspace.cpp
    LINK prdist::launch)
  if(TARGET OpenSSL::SSL)
    target_sources(test_launch PRIVATE launch/prrun/api_server.cpp launch/prrun/k8s.cpp)
    target_link_libraries(test_launch PRIVATE prrun_lib OpenSSL::SSL)
  else()
    message(STATUS "prdist: tests of listing pods and of an etcd with TLS are left out, OpenSSL was not found")
  endif()
  prdist_compile_plainly(test_launch)
  target_compile_definitions(test_launch PRIVATE PRRUN_PATH="$<TARGET_FILE:prrun>"
    PROBE_PATH="$<TARGET_FILE:launch_probe>" FOREIGN_PATH="$<TARGET_FILE:launch_foreign>")
  add_dependencies(test_launch prrun launch_probe launch_foreign)
  # Apart, because it is much and takes a real etcd.
  prdist_test(rendezvous
    SOURCES
      launch/prrun/etcd_store.cpp launch/prrun/nodes.cpp launch/prrun/nodes_elastic.cpp launch/prrun/nodes_failing.cpp
      launch/prrun/nodes_flags.cpp launch/prrun/nodes_ports.cpp launch/rendezvous/address.cpp launch/rendezvous/job_state.cpp
      launch/rendezvous/job_state_json.cpp launch/rendezvous/keeper.cpp launch/rendezvous/master.cpp
      launch/rendezvous/memory_store.cpp launch/rendezvous/node_outcomes.cpp launch/rendezvous/node_share.cpp
      launch/rendezvous/outlook.cpp launch/rendezvous/session.cpp launch/rendezvous/store.cpp launch/rendezvous/trainer_count.cpp
      launch/rendezvous/transitions.cpp
      launch/rendezvous/wait_for_nodes.cpp
    LINK prrun_lib)
  if(TARGET OpenSSL::SSL)
    target_sources(test_rendezvous PRIVATE launch/prrun/etcd_tls.cpp)
    # What the library has in its place is not looked at when the program has one already.
    prdist_test(without_tls
      SOURCES launch/prrun/without_tls.cpp ${PROJECT_SOURCE_DIR}/tools/prrun/https_talk_without_tls.cpp
      LINK prrun_lib)
    prdist_compile_plainly(test_without_tls)
    target_compile_definitions(test_without_tls PRIVATE PRRUN_PATH="$<TARGET_FILE:prrun>")
  endif()
  prdist_compile_plainly(test_rendezvous)
  target_compile_definitions(test_rendezvous PRIVATE PRRUN_PATH="$<TARGET_FILE:prrun>"
    PROBE_PATH="$<TARGET_FILE:launch_probe>")
  add_dependencies(test_rendezvous prrun launch_probe)
endif()
if(TARGET prgen)
  prdist_test(generators
    SOURCES
      generators/checks.cpp generators/cli.cpp generators/dialects.cpp generators/extending.cpp generators/fuzz.cpp
      generators/golden.cpp generators/keys.cpp generators/plain_yaml.cpp generators/pod_roles.cpp generators/proof.cpp
      generators/render.cpp generators/report.cpp generators/safety.cpp generators/secrecy.cpp generators/values.cpp
      generators/yaml_reader.cpp
    LINK prgen_lib prdist::launch)
  prdist_compile_plainly(test_generators)
  target_compile_definitions(test_generators PRIVATE
    PRGEN_TEMPLATES="${PROJECT_SOURCE_DIR}/templates" PRGEN_GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/generators/golden"
    PRGEN_DOCUMENTS="${CMAKE_CURRENT_SOURCE_DIR}/generators/documents" PRGEN_PROGRAM="$<TARGET_FILE:prgen>"
    PRGEN_EXTENDING="${PROJECT_SOURCE_DIR}/docs/extending.md" PRGEN_MANUAL="${PROJECT_SOURCE_DIR}/docs/prgen.md")
  # The file of docs/extending.md also compiles by itself; a tree that has followed the document has another of its name.
  add_library(extending_sample OBJECT generators/extending/compose.cpp)
  target_link_libraries(extending_sample PRIVATE prgen_lib)
  add_dependencies(test_generators prgen extending_sample)
  if(PRDIST_BUILD_FUZZERS)
    add_executable(fuzz_backend generators/fuzz_backend.cpp)
    target_link_libraries(fuzz_backend PRIVATE prgen_lib)
    target_compile_definitions(fuzz_backend PRIVATE PRGEN_TEMPLATES="${PROJECT_SOURCE_DIR}/templates")
    target_compile_options(fuzz_backend PRIVATE -fsanitize=fuzzer,address)
    target_link_options(fuzz_backend PRIVATE -fsanitize=fuzzer,address)
  endif()
endif()
