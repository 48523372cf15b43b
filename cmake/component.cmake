# prdist_component(NAME [OPTIONAL] HEADERS ... [IMPL ...] [LINK ...] [FIND "package arguments" ...])
#
# One header-only component with an export file of its own, so that a package built without it simply lacks
# prdist-NAME.cmake.
#   HEADERS   public headers; each is compiled alone by the target headers_stand_alone
#   IMPL      .ipp files and src.hpp: installed, but not meant to stand alone
#   LINK      what users of the component link, other components as prdist::OTHER
#   FIND      one string per find_package() call; the installed package repeats them
#   OPTIONAL  leave the component out, with a line saying so, when a package is not found
function(prdist_component name)
  cmake_parse_arguments(arg "OPTIONAL" "" "HEADERS;IMPL;LINK;FIND" ${ARGN})
  foreach(call IN LISTS arg_FIND)
    if(PRDIST_PACKAGE_ONLY)
      break() # headers are the same with and without what their users will need
    endif()
    separate_arguments(words UNIX_COMMAND "${call}")
    list(GET words 0 package)
    if(arg_OPTIONAL)
      find_package(${words} QUIET)
      if(NOT ${package}_FOUND)
        message(STATUS "prdist: component ${name} is left out, ${package} was not found")
        return()
      endif()
    else()
      find_package(${words} REQUIRED)
    endif()
  endforeach()

  add_library(prdist_${name} INTERFACE)
  add_library(prdist::${name} ALIAS prdist_${name})
  target_compile_features(prdist_${name} INTERFACE cxx_std_20)
  target_sources(prdist_${name} INTERFACE
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${arg_HEADERS}
    FILE_SET impl TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${arg_IMPL})
  target_link_libraries(prdist_${name} INTERFACE ${arg_LINK})
  set_target_properties(prdist_${name} PROPERTIES EXPORT_NAME ${name})

  set(needs ${arg_LINK})
  list(FILTER needs INCLUDE REGEX "^prdist::")
  list(TRANSFORM needs REPLACE "^prdist::" "")
  set_property(GLOBAL APPEND PROPERTY prdist_components ${name})
  set_property(GLOBAL APPEND PROPERTY prdist_headers ${arg_HEADERS})
  set_property(GLOBAL APPEND_STRING PROPERTY prdist_component_facts
    "set(prdist_needs_${name} \"${needs}\")\nset(prdist_find_${name} \"${arg_FIND}\")\n")
endfunction()
