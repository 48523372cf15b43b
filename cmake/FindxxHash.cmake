# xxHash ships no CMake config on Debian. It is used header-only.
find_path(xxHash_INCLUDE_DIR xxhash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash REQUIRED_VARS xxHash_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libxxhash-dev")
if(xxHash_FOUND AND NOT TARGET xxHash::headers)
  add_library(xxHash::headers INTERFACE IMPORTED)
  target_include_directories(xxHash::headers INTERFACE ${xxHash_INCLUDE_DIR})

endif()
mark_as_advanced(xxHash_INCLUDE_DIR)
