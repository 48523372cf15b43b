# What makes the build of this tree quicker, and nothing else.
#
# prdist_precompile(TARGET [header ...]): parses the standard library, and the headers of others that most files of the
# target take, once for all of them. Never headers of ours: a change in one would rebuild everything. Files still include
# what they use: the presets without it (dev, clang) hold them to it, and headers are compiled alone in any case.
option(PRDIST_PRECOMPILE "Parse headers of others once per program" OFF)

function(prdist_precompile target)
  if(NOT PRDIST_PRECOMPILE)
    return()
  endif()
  set(standard <algorithm> <atomic> <chrono> <cmath> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional>
    <set> <span> <string> <string_view> <system_error> <thread> <unordered_map> <utility> <variant> <vector>)
  target_precompile_headers(${target} PRIVATE ${standard} ${ARGN})
  # Without it ccache cannot tell what a precompiled header stands for.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()

# prdist_compile_quickly(TARGET): for programs that wait more than they compute. A fifth of the compile time of prrun.
function(prdist_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU,Clang>>:-O1>)
endfunction()

# prdist_compile_plainly(TARGET): for tests of programs, whose time is that of the programs. Half of the compile time.
function(prdist_compile_plainly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>>:-O0>)
endfunction()
