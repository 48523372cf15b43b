# The installed package: headers, one export file per component, the config that loads them, our find modules.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(prdist_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/prdist)
get_property(prdist_components GLOBAL PROPERTY prdist_components)
get_property(prdist_component_facts GLOBAL PROPERTY prdist_component_facts)

foreach(name IN LISTS prdist_components)
  install(TARGETS prdist_${name} EXPORT prdist_${name} FILE_SET HEADERS FILE_SET impl)
  install(EXPORT prdist_${name} NAMESPACE prdist:: FILE prdist-${name}.cmake DESTINATION ${prdist_package_dir})
endforeach()

configure_package_config_file(cmake/prdistConfig.cmake.in ${PROJECT_BINARY_DIR}/prdistConfig.cmake
  INSTALL_DESTINATION ${prdist_package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/prdistConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/prdistConfig.cmake ${PROJECT_BINARY_DIR}/prdistConfigVersion.cmake
              cmake/FindxxHash.cmake cmake/FindNCCL.cmake cmake/FindOpenBLAS.cmake cmake/FindCudaRuntime.cmake
        DESTINATION ${prdist_package_dir})
