# The checks of tools/checks as CTest tests, each beside a self test that sees it fail where it should.
set(checks ${PROJECT_SOURCE_DIR}/tools/checks)

# tilert_check(name [arguments]): check_<name>, and check_<name>_self_test.
function(tilert_check name)
  add_test(NAME check_${name} COMMAND ${Python3_EXECUTABLE} -B ${checks}/${name}.py ${ARGN})
  add_test(NAME check_${name}_self_test COMMAND ${Python3_EXECUTABLE} -B ${checks}/${name}.py --self-test)
  set_tests_properties(check_${name} check_${name}_self_test PROPERTIES TIMEOUT 120 LABELS check)
endfunction()

tilert_check(includes)
tilert_check(lengths)
tilert_check(words)
tilert_check(comments)
tilert_check(refusals)
tilert_check(headers)
tilert_check(documents)
# A sanitizer adds symbols and size of its own.
if(NOT TILERT_SANITIZE)
  tilert_check(library $<TARGET_FILE:tilert> --exports tilert_ --soname libtilert.so.0 --max-stripped 6)
  if(TARGET tilert_llvm)
    add_test(NAME check_library_plugin COMMAND ${Python3_EXECUTABLE} -B ${checks}/library.py
      $<TARGET_FILE:tilert_llvm> --exports tilert_plugin_query)
  endif()
endif()
