# How the rooms under src/ become object libraries, the shared library and test programs.
# Not here: flags and external libraries (TilertFlags.cmake).

set_property(GLOBAL PROPERTY TILERT_ROOMS "")

# tilert_room(name DEPENDS rooms...): src/<name>/*.cpp as one object library, and tests/<name>/*.cpp as the program
# test_<name>, each of whose cases CTest lists. A room without sources yet is an interface target.
function(tilert_room name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(sources)
    add_library(tilert_${name} OBJECT ${sources})
    target_include_directories(tilert_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
      ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
    target_compile_definitions(tilert_${name} PRIVATE TILERT_BUILDING)
    target_compile_definitions(tilert_${name} PRIVATE TILERT_WITH_CPU=$<BOOL:${TILERT_CPU}>
      TILERT_WITH_CUDA=$<BOOL:${TILERT_CUDA}> TILERT_WITH_HIP=$<BOOL:${TILERT_HIP}>)
    target_link_libraries(tilert_${name} PRIVATE tilert_flags tilert_external)
    set_property(GLOBAL APPEND PROPERTY TILERT_ROOMS ${name})
  endif()
  set_property(GLOBAL PROPERTY TILERT_ROOM_${name}_DEPENDS "${arg_DEPENDS}")
endfunction()

# tilert_embed_device_files(room dirs...): each file of the dirs becomes a string in generated/device_files.h.
function(tilert_embed_device_files room)
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*" OUTPUT_VARIABLE patterns)
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  set(out ${PROJECT_BINARY_DIR}/generated/device_files.h)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} "-DFILES=${files}" -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake VERBATIM)
  add_custom_target(tilert_device_files DEPENDS ${out})
  if(TARGET tilert_${room})
    add_dependencies(tilert_${room} tilert_device_files)
  endif()
endfunction()

# tilert_generator_digest(room rooms...): generated/generator_digest.h over the sources of `rooms` and the device files.
function(tilert_generator_digest room)
  set(patterns ${PROJECT_SOURCE_DIR}/device/*/*)
  foreach(used ${ARGN})
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/src/${used}/*)
  endforeach()
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  list(SORT files)
  set(out ${PROJECT_BINARY_DIR}/generated/generator_digest.h)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} "-DFILES=${files}" -P ${PROJECT_SOURCE_DIR}/cmake/GeneratorDigest.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/GeneratorDigest.cmake VERBATIM)
  add_custom_target(tilert_generator_digest DEPENDS ${out})
  add_dependencies(tilert_${room} tilert_generator_digest)
endfunction()

# libtilert.so of all rooms, with only tilert_* exported. Users link tilert::tilert, here and from an installed package.
function(tilert_shared_library)
  get_property(rooms GLOBAL PROPERTY TILERT_ROOMS)
  set(objects)
  foreach(room ${rooms})
    list(APPEND objects $<TARGET_OBJECTS:tilert_${room}>)
  endforeach()
  set(map ${PROJECT_BINARY_DIR}/generated/tilert.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tilert.map.in ${map} @ONLY)
  add_library(tilert SHARED ${objects})
  add_library(tilert::tilert ALIAS tilert)
  set_target_properties(tilert PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${map})
  target_include_directories(tilert INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(tilert PRIVATE tilert_flags tilert_external)
  target_link_options(tilert PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete
    -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections)
  if(NOT TILERT_SANITIZE)  # a sanitizer's own functions come from the program
    target_link_options(tilert PRIVATE -Wl,--no-undefined)
  endif()
  if(TILERT_SELF_CONTAINED)
    target_link_options(tilert PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

function(tilert_optional_directory dir)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${dir}/CMakeLists.txt)
    add_subdirectory(${dir})
  endif()
endfunction()

# All rooms that `room` may use, itself included, as object libraries.
function(tilert_room_closure room out)
  set(todo ${room})
  set(done)
  while(todo)
    list(POP_FRONT todo current)
    if(NOT current IN_LIST done)
      list(APPEND done ${current})
      get_property(deps GLOBAL PROPERTY TILERT_ROOM_${current}_DEPENDS)
      list(APPEND todo ${deps})
    endif()
  endwhile()
  set(${out} ${done} PARENT_SCOPE)
endfunction()

# The objects of those rooms, for a program that has them inside.
function(tilert_room_objects room out)
  tilert_room_closure(${room} closure)
  set(objects)
  foreach(used ${closure})
    if(TARGET tilert_${used})
      list(APPEND objects $<TARGET_OBJECTS:tilert_${used}>)
    endif()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# Tests that load the plugin, and so need it built first.
set(TILERT_TESTS_WITH_PLUGIN compiler runtime jit capi conformance e2e)

# tilert_room_test(room [name]): tests/<name>/*.cpp against the objects of `room` and of the rooms below it.
function(tilert_room_test room)
  set(name ${room})
  if(ARGC GREATER 1)
    set(name ${ARGV1})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/tests ${PROJECT_BINARY_DIR}/generated)
  target_compile_definitions(test_${name} PRIVATE TILERT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TILERT_BINARY_DIR="${PROJECT_BINARY_DIR}" TILERT_PROJECT_VERSION="${PROJECT_VERSION}" TILERT_BUILDING)
  tilert_room_objects(${room} objects)
  target_sources(test_${name} PRIVATE ${objects})
  target_link_libraries(test_${name} PRIVATE tilert_flags tilert_external nlohmann_json::nlohmann_json GTest::gmock GTest::gtest_main)
  if(TARGET tilert_device_files)
    add_dependencies(test_${name} tilert_device_files)
  endif()
  if(TARGET tilert_llvm AND name IN_LIST TILERT_TESTS_WITH_PLUGIN)
    add_dependencies(test_${name} tilert_llvm)
  endif()
  include(GoogleTest)
  # NO_PRETTY_VALUES: a parameter printed as bytes would put addresses into the names of tests.
  gtest_discover_tests(test_${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 300)
endfunction()
