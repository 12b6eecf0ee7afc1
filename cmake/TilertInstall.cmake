# What `cmake --install` lays down: the library, the plugin beside it (it is found there and nowhere else), the headers,
# the CMake package `tilert`, pkg-config's tilert.pc and the licences.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tilert EXPORT tilert-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET tilert_llvm)
  install(TARGETS tilert_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT tilert-targets NAMESPACE tilert:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilert)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilert-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/tilert-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilert)
# Until 1.0 another minor version is another interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tilert-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tilert-config.cmake
  ${PROJECT_BINARY_DIR}/package/tilert-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilert)

file(RELATIVE_PATH TILERT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tilert.pc.in ${PROJECT_BINARY_DIR}/package/tilert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/tilert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
