# prdist_component(NAME HEADERS ... LINK ...): one header-only component, its own export file, so that a package
# built without it simply lacks prdist-NAME.cmake.
function(prdist_component name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  add_library(prdist_${name} INTERFACE)
  add_library(prdist::${name} ALIAS prdist_${name})
  set_target_properties(prdist_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(prdist_${name} INTERFACE cxx_std_20)
  target_sources(prdist_${name} INTERFACE
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${arg_HEADERS})
  target_link_libraries(prdist_${name} INTERFACE ${arg_LINK})
endfunction()
