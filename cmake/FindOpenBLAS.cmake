# OpenBLAS::OpenBLAS. Conan's config has the target; Debian's has only variables, with a path of one flavour of the
# library, so there the library is looked up by name.
find_package(OpenBLAS CONFIG QUIET)
if(NOT TARGET OpenBLAS::OpenBLAS)
  find_library(OpenBLAS_LIBRARY openblas)
endif()
include(FindPackageHandleStandardArgs)
if(TARGET OpenBLAS::OpenBLAS)
  set(OpenBLAS_FOUND TRUE)
else()
  find_package_handle_standard_args(OpenBLAS REQUIRED_VARS OpenBLAS_LIBRARY
    REASON_FAILURE_MESSAGE "install libopenblas-dev, or configure with PRDIST_NN=OFF")
  if(OpenBLAS_FOUND)
    add_library(OpenBLAS::OpenBLAS UNKNOWN IMPORTED)
    set_target_properties(OpenBLAS::OpenBLAS PROPERTIES IMPORTED_LOCATION ${OpenBLAS_LIBRARY})
  endif()
endif()
