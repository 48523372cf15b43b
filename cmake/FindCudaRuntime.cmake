# CudaRuntime::CudaRuntime: the CUDA runtime library and the headers of Thrust, for C++ and CUDA sources alike. Looks
# in CudaRuntime_ROOT, CUDAToolkit_ROOT, CUDA_HOME and beside nvcc. CMake's own FindCUDAToolkit is not used: up to 3.31
# it fails on CUDA 13 (a library it expects is gone) and does not know where CUDA 13 keeps Thrust.
find_program(CudaRuntime_NVCC nvcc HINTS ${CUDAToolkit_ROOT} ENV CUDA_HOME PATH_SUFFIXES bin)
set(CudaRuntime_HINTS ${CUDAToolkit_ROOT} $ENV{CUDA_HOME})
if(CudaRuntime_NVCC)
  file(REAL_PATH ${CudaRuntime_NVCC} CudaRuntime_BESIDE)
  cmake_path(GET CudaRuntime_BESIDE PARENT_PATH CudaRuntime_BESIDE)
  cmake_path(GET CudaRuntime_BESIDE PARENT_PATH CudaRuntime_BESIDE)
  list(APPEND CudaRuntime_HINTS ${CudaRuntime_BESIDE})
endif()
find_path(CudaRuntime_INCLUDE_DIR cuda_runtime_api.h HINTS ${CudaRuntime_HINTS} PATH_SUFFIXES include)
find_path(CudaRuntime_THRUST_DIR thrust/version.h HINTS ${CudaRuntime_INCLUDE_DIR} PATH_SUFFIXES cccl)
# Static, as nvcc itself links it: the program starts on a machine that has no toolkit.
find_library(CudaRuntime_LIBRARY cudart_static HINTS ${CudaRuntime_HINTS} PATH_SUFFIXES lib64 lib lib/x64)

if(CudaRuntime_INCLUDE_DIR)
  file(STRINGS ${CudaRuntime_INCLUDE_DIR}/cuda_runtime_api.h CudaRuntime_VERSION REGEX "#define CUDART_VERSION ")
  string(REGEX MATCH "[0-9]+" CudaRuntime_VERSION "${CudaRuntime_VERSION}")
  if(CudaRuntime_VERSION)
    math(EXPR major "${CudaRuntime_VERSION} / 1000")
    math(EXPR minor "${CudaRuntime_VERSION} % 1000 / 10")
    set(CudaRuntime_VERSION ${major}.${minor})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaRuntime
  REQUIRED_VARS CudaRuntime_LIBRARY CudaRuntime_INCLUDE_DIR CudaRuntime_THRUST_DIR VERSION_VAR CudaRuntime_VERSION
  REASON_FAILURE_MESSAGE "set CUDA_HOME to the folder of the CUDA toolkit")
if(CudaRuntime_FOUND AND NOT TARGET CudaRuntime::CudaRuntime)
  find_package(Threads REQUIRED)
  add_library(CudaRuntime::CudaRuntime STATIC IMPORTED)
  set_target_properties(CudaRuntime::CudaRuntime PROPERTIES
    IMPORTED_LOCATION ${CudaRuntime_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${CudaRuntime_INCLUDE_DIR};${CudaRuntime_THRUST_DIR}"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};$<$<PLATFORM_ID:Linux>:rt>")
endif()
mark_as_advanced(CudaRuntime_NVCC CudaRuntime_INCLUDE_DIR CudaRuntime_THRUST_DIR CudaRuntime_LIBRARY)
