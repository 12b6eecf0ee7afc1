# The .debs that `cpack` makes of the components in TilertInstall.cmake: libtilert0, libtilert0-llvm, libtilert-dev, tilert.
# For builds whose prefix is /usr (presets test and package), because only there a library's folder is Debian's.
# Not here: their checks (tools/package_check).
#
# Everything of a SONAME lies under names with its number, so that libtilert0 and a later libtilert1 live side by side. The
# plugin and the helper are of one build with the library, so their packages ask for exactly its version.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT TARGET tilert_static OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT TARGET tilert_compile
    OR NOT TARGET tilert_llvm OR NOT TARGET tilert_command)
  return()
endif()
set(tilert_revision 1)
set(tilert_deb_version ${PROJECT_VERSION}-${tilert_revision})
set(tilert_soname_package libtilert${PROJECT_VERSION_MAJOR})
math(EXPR tilert_next_minor "${PROJECT_VERSION_MINOR} + 1")

# Who links the library needs one with its symbols, and before 1.0 none of the next minor version.
set(TILERT_DEB_DEPENDENCY "${tilert_soname_package} #MINVER#")
set(tilert_shlibs "${tilert_soname_package} (>= ${PROJECT_VERSION})")
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(tilert_below "${tilert_soname_package} (<< 0.${tilert_next_minor}~)")
  string(APPEND TILERT_DEB_DEPENDENCY ", ${tilert_below}")
  string(APPEND tilert_shlibs ", ${tilert_below}")
endif()

set(tilert_control ${PROJECT_BINARY_DIR}/package/control)
file(WRITE ${tilert_control}/triggers "activate-noawait ldconfig\n")
file(WRITE ${tilert_control}/shlibs "libtilert ${PROJECT_VERSION_MAJOR} ${tilert_shlibs}\n")
# Each function as of this version: a program never gets an older library than the one it was built with.
file(STRINGS ${PROJECT_SOURCE_DIR}/include/tilert.h tilert_declarations REGEX "^TILERT_API ")
set(tilert_symbols)
foreach(declaration IN LISTS tilert_declarations)
  string(REGEX MATCH "tilert_[a-z0-9_]+\\(" symbol "${declaration}")
  string(REPLACE "(" "@TILERT_${PROJECT_VERSION_MAJOR} ${PROJECT_VERSION}" symbol "${symbol}")
  list(APPEND tilert_symbols " ${symbol}")
endforeach()
list(APPEND tilert_symbols " TILERT_${PROJECT_VERSION_MAJOR}@TILERT_${PROJECT_VERSION_MAJOR} ${PROJECT_VERSION}")
list(SORT tilert_symbols)
list(JOIN tilert_symbols "\n" TILERT_DEB_SYMBOLS)
configure_file(${PROJECT_SOURCE_DIR}/packaging/symbols.in ${tilert_control}/symbols @ONLY)
tilert_compressed(${PROJECT_SOURCE_DIR}/packaging/changelog changelog.Debian)
tilert_compressed(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilert)
set(CPACK_PACKAGE_VENDOR tilert)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/debs)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE tilert)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${tilert_revision})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(TILERT_PACKAGE_MAINTAINER "tilert maintainers <maintainers@tilert.invalid>" CACHE STRING "Maintainer: of the .debs")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${TILERT_PACKAGE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL)

# tilert_package(component package SECTION DEPENDS RECOMMENDS SUGGESTS SUMMARY TEXT): a component as a .deb, with
# copyright and changelogs.
function(tilert_package component package)
  cmake_parse_arguments(arg "" "SECTION;DEPENDS;RECOMMENDS;SUGGESTS;SUMMARY;TEXT" "" ${ARGN})
  set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright ${PROJECT_BINARY_DIR}/package/changelog.gz
    ${PROJECT_BINARY_DIR}/package/changelog.Debian.gz DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} upper)
  set(prefix CPACK_DEBIAN_${upper}_PACKAGE)
  set(${prefix}_NAME ${package} PARENT_SCOPE)
  set(${prefix}_SECTION ${arg_SECTION} PARENT_SCOPE)
  foreach(field DEPENDS RECOMMENDS SUGGESTS)
    if(arg_${field})
      set(${prefix}_${field} "${arg_${field}}" PARENT_SCOPE)
    endif()
  endforeach()
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_TEXT}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()

set(tilert_what_it_is "A program describes a kernel as a tile program while it runs: it copies tiles,
multiplies them, reduces them. tilert specializes the kernel to the device and
the shapes at hand, generates source text, has it compiled in the process,
keeps the binary in a cache and launches it on the caller's stream. NVIDIA's
and AMD's GPUs and CPUs are targets of one program.")
tilert_package(runtime ${tilert_soname_package} SECTION libs RECOMMENDS "${tilert_soname_package}-llvm (= ${tilert_deb_version})"
  SUMMARY "compiler of tile programs at run time - shared library"
  TEXT "${tilert_what_it_is}

This package holds the shared library. The driver of a GPU and its vendor's
run-time compiler are looked for when they are needed, and are no dependencies.")
tilert_package(llvm ${tilert_soname_package}-llvm SECTION libs DEPENDS "${tilert_soname_package} (= ${tilert_deb_version})"
  SUMMARY "compiler of tile programs at run time - CPU back end"
  TEXT "${tilert_what_it_is}

This package holds the plugin that compiles for the CPU: LLVM, linked in and
hidden, whatever other LLVM a program has loaded.")
tilert_package(development libtilert-dev SECTION libdevel DEPENDS "${tilert_soname_package} (= ${tilert_deb_version})"
  SUGGESTS "libsodium-dev, libsqlite3-dev"
  SUMMARY "compiler of tile programs at run time - development files"
  TEXT "${tilert_what_it_is}

This package holds the C header, the C++ headers over it, the static library
(which needs libsodium-dev and libsqlite3-dev to be linked), and what CMake and
pkg-config need to find either.")
tilert_package(command tilert SECTION devel DEPENDS "${tilert_soname_package} (= ${tilert_deb_version})"
  RECOMMENDS "${tilert_soname_package}-llvm"
  SUMMARY "compiler of tile programs at run time - command"
  TEXT "${tilert_what_it_is}

This package holds a command that prints tile programs, shows what they become
for a device, says why, and compiles them. It needs no device.")

# CPack would write scripts that call ldconfig where the trigger does it. It leaves them out where a package names its own;
# these names are of no file, and so no script is packed.
set(no_scripts ${tilert_control}/none/postinst ${tilert_control}/none/postrm)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${tilert_control}/triggers ${tilert_control}/shlibs ${tilert_control}/symbols
  ${no_scripts})
set(CPACK_DEBIAN_LLVM_PACKAGE_CONTROL_EXTRA ${no_scripts})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_CONTROL_EXTRA ${no_scripts})
include(CPack)
