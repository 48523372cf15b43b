# prdist::compiled: the bodies in the .ipp files built once, for programs of more than one translation unit. It is a
# convenience of this build tree and is not installed: a package of headers fits every compiler, a library does not.
# Tests, tools, examples and benches link ${prdist_link}, so that the choice is made here alone.
set(prdist_link prdist::prdist)
if(EXISTS ${PROJECT_SOURCE_DIR}/include/prdist/src.hpp AND NOT PRDIST_PACKAGE_ONLY)
  # One unit per body that src.hpp names: two cores are busy, and a change rebuilds what it touches.
  file(STRINGS include/prdist/src.hpp bodies REGEX "^#include <prdist/.*ipp>")
  set(units "")
  foreach(body IN LISTS bodies)
    string(REGEX REPLACE "^#include <prdist/(.*)/(.*)\\.ipp>$" "\\1_\\2.cpp" unit "${body}")
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/compiled/${unit} CONTENT "${body}\n" @ONLY)
    list(APPEND units ${PROJECT_BINARY_DIR}/compiled/${unit})
  endforeach()
  add_library(prdist_compiled STATIC EXCLUDE_FROM_ALL ${units})
  add_library(prdist::compiled ALIAS prdist_compiled)
  target_compile_definitions(prdist_compiled PUBLIC PRDIST_SEPARATE_COMPILATION)
  target_link_libraries(prdist_compiled PUBLIC prdist::prdist)
  if(PRDIST_LINK_COMPILED)
    set(prdist_link prdist::compiled)
  endif()
endif()
