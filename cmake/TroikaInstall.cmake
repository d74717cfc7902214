# The public library Troika::troika, in the build tree and for find_package(Troika): one name in front of the static
# libraries of the folders.
include(CMakePackageConfigHelpers)

add_library(troika_public INTERFACE)
add_library(Troika::troika ALIAS troika_public)
set_target_properties(troika_public PROPERTIES EXPORT_NAME troika)
target_link_libraries(troika_public INTERFACE troika_api)
target_include_directories(troika_public INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Troika)
get_property(libraries GLOBAL PROPERTY TROIKA_LIBRARIES)
install(TARGETS troika_public ${libraries} EXPORT TroikaTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/troika)
install(EXPORT TroikaTargets NAMESPACE Troika:: DESTINATION ${package_dir})
install(DIRECTORY include/troika DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} OPTIONAL FILES_MATCHING PATTERN *.h)

set(TROIKA_INSTALLED_MPI none)
if(TARGET MPI::MPI_CXX)
  set(TROIKA_INSTALLED_MPI ${TROIKA_MPI})
endif()
configure_package_config_file(cmake/TroikaConfig.cmake.in ${PROJECT_BINARY_DIR}/TroikaConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TroikaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/TroikaConfig.cmake
  ${PROJECT_BINARY_DIR}/TroikaConfigVersion.cmake
  cmake/TroikaDependencies.cmake
  cmake/FindOneDNN.cmake
  cmake/FindTurboJPEG.cmake
  DESTINATION ${package_dir})
