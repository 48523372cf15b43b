# Real processes under the launcher, over sockets; some are killed in the middle.
if(TARGET prrun)
  # Programs of PaddlePaddle itself; skipped where it is not installed.
  foreach(case IN ITEMS ps collective)
    add_test(NAME paddle_job.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/launch/paddle_job.py $<TARGET_FILE:prrun> ${case})
    set_tests_properties(paddle_job.${case} PROPERTIES TIMEOUT 330 PROCESSORS 2 SKIP_RETURN_CODE 77)
  endforeach()
endif()
# Whole commands beside kubectl and mpirun; once is enough, without sanitizers.
if(TARGET prrun AND TARGET prgen AND PRDIST_BUILD_CHECKS)
  set(submitted cancel cluster logs status)
  foreach(case IN ITEMS existing interrupted k8s local models mpirun no_cluster paddlecloud plan real_kubectl secrets
      version_of_the_cluster volcano what_is_missing words ${submitted})
    set(script submit_jobs.py)
    if(case IN_LIST submitted)
      set(script submitted_jobs.py)
    endif()
    add_test(NAME submit.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/launch/${script} $<TARGET_FILE_DIR:prrun> ${case})
    set_tests_properties(submit.${case} PROPERTIES TIMEOUT 200 SKIP_RETURN_CODE 77)
  endforeach()
endif()
if(TARGET ctr_dnn AND TARGET prrun AND TARGET prdata)
  # A million rows through the demo's network: only where the compiler has been let do its work.
  set(trained_whole "")
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(trained_whole quality)
  endif()
  foreach(case IN ITEMS ${trained_whole} async_beast sync_beast async_tcp sync_tcp half_async geo ssp killed_server killed_trainer
      direct_kill_of_a_server broken_line diverged too_few_files more_workers_than_files_sync more_workers_than_files_async ten_lines pull_push own_model wrapped environment_is_wrong resumed_sync
      resumed_sync_half
      resumed_async resumed_half_async resumed_ssp resumed_geo dealt_sync dealt_async dealt_geo ssp_saves uneven_async uneven_sync_stopped
      uneven_async_stopped finished_one_is_asked_to_stop finished_one_of_sync_is_asked_to_stop stopped_before_anything
      asked_while_it_evaluates server_is_asked_to_stop worker_is_asked_to_stop
      nothing_to_resume_to row_policies optimizers listed_nodes last_holds_all_async last_holds_all_sync
      last_holds_all_async_resumed last_holds_all_sync_resumed no_room_for_the_last no_time_for_the_last numbers_are_checked threads_of_config)
    add_test(NAME jobs.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/jobs.py $<TARGET_FILE_DIR:ctr_dnn> ${case})
    set_tests_properties(jobs.${case} PROPERTIES TIMEOUT 600 PROCESSORS 2)
  endforeach()
  if(TARGET prckpt)
    add_executable(predict_rows checkpoint/programs/predict_rows.cpp)
    target_link_libraries(predict_rows PRIVATE ${prdist_link} prdist::nn)
    foreach(case IN ITEMS imported imported_adagrad exported)
      add_test(NAME paddle_jobs.${case}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/checkpoint/paddle_jobs.py
          $<TARGET_FILE_DIR:ctr_dnn> $<TARGET_FILE_DIR:predict_rows> ${case})
      set_tests_properties(paddle_jobs.${case} PROPERTIES TIMEOUT 600 PROCESSORS 2 SKIP_RETURN_CODE 77)
    endforeach()
  endif()
  foreach(case IN ITEMS async sync geo told one_port_for_all daemon lost_trainer stopped contradictions flags)
    add_test(NAME prserver.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/launch/prserver.py $<TARGET_FILE_DIR:prserver> ${case})
    set_tests_properties(prserver.${case} PROPERTIES TIMEOUT 300 PROCESSORS 2)
  endforeach()
  foreach(case IN ITEMS come_and_go come_and_go_in_threads stopped_and_resumed all_stopped_and_resumed
      too_few refused)
    add_test(NAME elastic_jobs.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/elastic_jobs.py $<TARGET_FILE_DIR:ctr_dnn> ${case})
    set_tests_properties(elastic_jobs.${case} PROPERTIES TIMEOUT 300 PROCESSORS 2)
  endforeach()
  foreach(case IN ITEMS asked lost)
    add_test(NAME elastic_sync_jobs.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/elastic_sync_jobs.py $<TARGET_FILE_DIR:ctr_dnn> ${case})
    set_tests_properties(elastic_sync_jobs.${case} PROPERTIES TIMEOUT 400 PROCESSORS 2)
  endforeach()
  foreach(case IN ITEMS come_and_go too_few)
    add_test(NAME elastic_nodes.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/elastic_nodes.py $<TARGET_FILE_DIR:ctr_dnn> ${case})
    set_tests_properties(elastic_nodes.${case} PROPERTIES TIMEOUT 300 PROCESSORS 2)
  endforeach()
  if(PRDIST_BUILD_CHECKS) # hosts are made of network namespaces; once is enough
    foreach(case IN ITEMS copied_prrun ctrl_c failing_trainer frozen_agent host_keys hosts_down killed_agent killed_launcher
        killed_ssh killed_sshd killed_worker mute_agent no_time_to_save quiet_job shards_and_secrets silent_network
        trains workspace)
      add_test(NAME ssh_jobs.${case}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/launch/ssh_jobs.py $<TARGET_FILE_DIR:ctr_dnn> ${case})
      set_tests_properties(ssh_jobs.${case} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    endforeach()
  endif()
  foreach(case IN ITEMS pods mpirun rendered two_nodes two_nodes_etcd)
    add_test(NAME node_jobs.${case}
      COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/launch/node_jobs.py $<TARGET_FILE_DIR:ctr_dnn> ${case})
    set_tests_properties(node_jobs.${case} PROPERTIES TIMEOUT 300 PROCESSORS 2 SKIP_RETURN_CODE 77)
  endforeach()
endif()
