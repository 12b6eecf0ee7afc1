# libtilert.a, in releases: one object of all rooms in which only tilert_* is global, so that a host may have any other fmt,
# JSON or LLVM under the same names. It needs the host's C++ library, SQLite and libsodium. Not here: libtilert.so (TilertRooms.cmake).
option(TILERT_STATIC "Build libtilert.a beside libtilert.so (in builds of type Release)" ON)
if(NOT TILERT_STATIC OR NOT TILERT_SELF_CONTAINED)
  return()
endif()
find_program(TILERT_LD NAMES ld.bfd ld REQUIRED)
mark_as_advanced(TILERT_LD)

get_property(rooms GLOBAL PROPERTY TILERT_ROOMS)
set(objects)
foreach(room ${rooms})
  list(APPEND objects $<TARGET_OBJECTS:tilert_${room}>)
endforeach()
# Groups are dissolved first: the linker of a program keeps one of several by name, and these names are no longer others'.
set(one ${PROJECT_BINARY_DIR}/static/tilert.o)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/static)
add_custom_command(OUTPUT ${one}
  COMMAND ${TILERT_LD} -r --force-group-allocation -o ${one}.all.o ${objects}
  COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=tilert_*" ${one}.all.o ${one}
  COMMAND ${CMAKE_COMMAND} -E rm ${one}.all.o
  DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Making one object of all rooms")
set_source_files_properties(${one} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(tilert_static STATIC ${one})
add_library(tilert::tilert_static ALIAS tilert_static)
set_target_properties(tilert_static PROPERTIES OUTPUT_NAME tilert LINKER_LANGUAGE C
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_include_directories(tilert_static INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
# By name, so that a program in C alone links as well.
set(TILERT_STATIC_LIBRARIES sqlite3 sodium stdc++ m pthread dl)
target_link_libraries(tilert_static INTERFACE ${TILERT_STATIC_LIBRARIES})
