# The Go binding against the library just built. Where there is no Go its tests are skipped, by name.
find_program(TILERT_GO go)
set(go_folder ${PROJECT_BINARY_DIR}/bindings/go)
set(go_source ${PROJECT_SOURCE_DIR}/bindings/go)
# What an installed tree looks like from there: a prefix, and what pkg-config reads.
file(MAKE_DIRECTORY ${go_folder}/prefix)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${go_folder}/prefix/include SYMBOLIC)
file(CREATE_LINK ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${go_folder}/prefix/lib SYMBOLIC)
file(WRITE ${go_folder}/tilert.pc "prefix=${go_folder}/prefix
Name: tilert
Description: the library just built
Version: ${PROJECT_VERSION}
Libs: -L\${prefix}/lib -ltilert -Wl,-rpath,\${prefix}/lib
Cflags: -I\${prefix}/include
")
# Offline: the module needs no other. Nor does a result name the commit, for which Go would ask git, who may refuse a stranger's folder.
set(go_environment PKG_CONFIG_PATH=${go_folder} "GOFLAGS=-mod=mod -buildvcs=false" GOPROXY=off GOTOOLCHAIN=local GOCACHE=${go_folder}/cache GOPATH=${go_folder}/path)

function(tilert_go_test name)
  if(TILERT_GO)
    add_test(NAME ${name} COMMAND ${ARGN})
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: go is not installed")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS bindings ENVIRONMENT "${go_environment}" SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

if(TARGET tilert_llvm AND NOT TILERT_SANITIZE)  # as the twenty programs
  tilert_go_test(go_binding ${CMAKE_CURRENT_SOURCE_DIR}/go_test.sh ${go_source})
  tilert_go_test(go_race ${CMAKE_CURRENT_SOURCE_DIR}/go_test.sh ${go_source} -race)
  tilert_go_test(readme_go ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/readme_test.py ${go_source}/README.md
    $<TARGET_FILE:tilert> TILERT=${go_folder}/prefix PATH=$ENV{PATH} ${go_environment})
  tilert_twenty(go NEEDS go COMMAND ${CMAKE_COMMAND} -E env ${go_environment}
    ${CMAKE_COMMAND} -E chdir ${go_source} go run ./examples/programs)
endif()
