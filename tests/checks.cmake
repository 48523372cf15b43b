# Rules that are scripts, and the whole package as a user meets it. They hold for the tree, not for one build, so the
# sanitizer presets leave them out.

# prdist_check(NAME TIMEOUT script [arguments ...]): a Python script of tests/ as a test; exit code 77 is "skipped".
function(prdist_check name timeout script)
  add_test(NAME ${name} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS checks TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
endfunction()

prdist_check(checks.layers 60 layers.py)
prdist_check(checks.layers_selftest 60 layers_selftest.py)

# All headers in two translation units of one program: a definition that is not inline, or a header that depends on
# who stands before it, does not link or does not compile. The second unit takes them in reverse order.
get_property(headers GLOBAL PROPERTY prdist_headers)
list(TRANSFORM headers REPLACE "^include/(.*)$" "#include <\\1>")
list(JOIN headers "\n" includes)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/odr/all_headers.hpp CONTENT "${includes}\n" @ONLY)
list(REVERSE headers)
list(JOIN headers "\n" includes)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/odr/all_headers_reversed.hpp CONTENT "${includes}\n" @ONLY)
get_property(components GLOBAL PROPERTY prdist_components)
list(TRANSFORM components PREPEND prdist::)
add_executable(test_odr odr.cpp odr_reversed.cpp)
target_include_directories(test_odr PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/odr)
target_link_libraries(test_odr PRIVATE ${components})
target_compile_options(test_odr PRIVATE -O0) # quicker, and nothing is inlined away
add_test(NAME checks.odr COMMAND test_odr)
set_tests_properties(checks.odr PROPERTIES LABELS checks TIMEOUT 30)

# Every header compiles alone. The bodies in .ipp files do too: prdist::compiled has a unit of each.
set(units "")
foreach(line IN LISTS headers)
  string(REGEX REPLACE "^#include <(.*)\\.hpp>$" "\\1" name "${line}")
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/alone/${name}.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "${line}\n" @ONLY)
  list(APPEND units ${unit})
endforeach()
add_library(headers_stand_alone OBJECT EXCLUDE_FROM_ALL ${units})
target_link_libraries(headers_stand_alone PRIVATE ${components})
target_compile_definitions(headers_stand_alone PRIVATE PRDIST_SEPARATE_COMPILATION)
target_compile_options(headers_stand_alone PRIVATE -O0 -g0)
add_test(NAME checks.headers_stand_alone
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target headers_stand_alone --parallel 2)
set_tests_properties(checks.headers_stand_alone PROPERTIES LABELS "checks;headers" TIMEOUT 1200 PROCESSORS 2)

# What the compiler is called with for a file of ours, for the scripts that call it themselves.
# The system's own folder is left out, as CMake does: named again, it upsets the order of the standard headers.
set(includes $<FILTER:$<TARGET_PROPERTY:test_odr,INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>)
set(definitions $<TARGET_PROPERTY:test_odr,COMPILE_DEFINITIONS>)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/flags.txt CONTENT "-std=c++20
$<$<BOOL:${includes}>:-I$<JOIN:${includes},\n-I>>
$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},\n-D>>
")
set(compiler ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_BINARY_DIR}/flags.txt)

prdist_check(checks.compile_budget 120 compile_budget.py ${compiler})
prdist_check(compile_fail.harness 120 compile_fail/selftest.py ${compiler})
# Each names a file of compile_fail/: it must not compile, and the compiler must say what the file expects.
foreach(case IN ITEMS
    concat_of_a_struct
    device_without_gather
    fleet_with_bare_choice
    fleet_with_foreign_value
    fleet_with_two_strategies
    fleet_without_hub
    parts_without_sync
    strategy_without_step
    transport_without_connect)
  prdist_check(compile_fail.${case} 120 compile_fail/run.py
    ${compiler} ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${case}.cpp)
endforeach()

# What prgen writes, by those who read it: Kubernetes' schemas, shells, mpirun, prrun.
if(TARGET prgen)
  set(golden ${CMAKE_CURRENT_SOURCE_DIR}/generators/golden)
  set(work ${CMAKE_CURRENT_BINARY_DIR}/generators_work)
  prdist_check(generators.schemas 300 generators/schemas.py
    $<TARGET_FILE:prgen> ${golden} ${work}/schemas ${PROJECT_SOURCE_DIR})
  prdist_check(generators.shellcheck 60 generators/scripts.py shellcheck ${golden})
  prdist_check(generators.mpirun 120 generators/scripts.py mpirun $<TARGET_FILE:prgen> ${work}/mpirun)
  prdist_check(generators.paddlecloud 60 generators/scripts.py paddlecloud $<TARGET_FILE:prgen> ${work}/paddlecloud)
  prdist_check(generators.local 120 generators/scripts.py local $<TARGET_FILE:prgen> ${work}/local $<TARGET_FILE:prrun>)
  prdist_check(generators.cluster 300 generators/cluster.py $<TARGET_FILE:prgen> ${golden})
endif()

if(TARGET prdist::cuda)
  # By nvcc, for the GPU. Without one, the program shows what a user is told, and skips the suite.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    prdist_test(cuda SOURCES device/cuda_compiles.cu device/cuda_from_cpp.cpp LINK prdist::cuda)
  else()
    message(STATUS "prdist: test_cuda is left out, nvcc was not found")
  endif()
endif()

# The package as others take it.
get_property(components GLOBAL PROPERTY prdist_components)
list(JOIN components "," components)
prdist_check(consumer.installed 600 consumer/installed.py
  ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER} ${components})
prdist_check(consumer.conan 900 consumer/conan.py
  ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/conan ${CMAKE_CXX_COMPILER} ${components})
set_tests_properties(consumer.installed consumer.conan PROPERTIES LABELS consumer)
