# What `cmake --install` lays down, in components: runtime (the library, and the helper in a folder of this SONAME alone, where
# the library looks), llvm (the plugin, there too), development (headers, link name, libtilert.a, CMake package `tilert`, pkg-config's
# tilert.pc), command (tilert), licences. Not here: the .debs that are made of the components (TilertPackages.cmake).
include(CMakePackageConfigHelpers)
set(TILERT_PRIVATE_DIR ${CMAKE_INSTALL_LIBDIR}/tilert-${PROJECT_VERSION_MAJOR})
set(tilert_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tilert)

install(TARGETS tilert EXPORT tilert-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET tilert_static)
  install(TARGETS tilert_static EXPORT tilert-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()
if(TARGET tilert_compile)
  install(TARGETS tilert_compile RUNTIME DESTINATION ${TILERT_PRIVATE_DIR} COMPONENT runtime)
endif()
if(TARGET tilert_llvm)
  install(TARGETS tilert_llvm LIBRARY DESTINATION ${TILERT_PRIVATE_DIR} COMPONENT llvm)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT tilert-targets NAMESPACE tilert:: DESTINATION ${tilert_cmake_dir} COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilert-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/tilert-config.cmake INSTALL_DESTINATION ${tilert_cmake_dir})
# Until 1.0 another minor version is another interface; from then on only another major one.
set(tilert_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(tilert_compatibility SameMinorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tilert-config-version.cmake
  COMPATIBILITY ${tilert_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/package/tilert-config.cmake
  ${PROJECT_BINARY_DIR}/package/tilert-config-version.cmake DESTINATION ${tilert_cmake_dir} COMPONENT development)

file(RELATIVE_PATH TILERT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(TRANSFORM TILERT_STATIC_LIBRARIES PREPEND -l OUTPUT_VARIABLE TILERT_PC_LIBRARIES)
list(JOIN TILERT_PC_LIBRARIES " " TILERT_PC_LIBRARIES)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tilert.pc.in ${PROJECT_BINARY_DIR}/package/tilert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/tilert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licences)

# tilert_compressed(file name): package/<name>.gz, the file with @VARIABLES@ replaced; the same bytes whenever it is made.
find_program(TILERT_GZIP gzip REQUIRED)
mark_as_advanced(TILERT_GZIP)
function(tilert_compressed file name)
  set(made ${PROJECT_BINARY_DIR}/package/${name})
  configure_file(${file} ${made} @ONLY)
  execute_process(COMMAND ${TILERT_GZIP} -9nkf ${made} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
if(EXISTS ${PROJECT_SOURCE_DIR}/docs)  # bindings that bundle the library carry its sources alone
  tilert_compressed(${PROJECT_SOURCE_DIR}/docs/man/libtilert.3.in libtilert.3)
  install(FILES ${PROJECT_BINARY_DIR}/package/libtilert.3.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
endif()
if(TARGET tilert_command)
  install(TARGETS tilert_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  tilert_compressed(${PROJECT_SOURCE_DIR}/docs/man/tilert.1.in tilert.1)
  install(FILES ${PROJECT_BINARY_DIR}/package/tilert.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
endif()
