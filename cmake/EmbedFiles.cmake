# Writes OUT: one raw string per file of FILES, in a table by file name.
set(text "// Generated from the device files; do not edit.\n#pragma once\n#include <string_view>\nnamespace tilert::device_files {\nstruct File { std::string_view name, text; };\ninline constexpr File kFiles[] = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} body)
  string(APPEND text "{\"${name}\", R\"TILERT(${body})TILERT\"},\n")
endforeach()
string(APPEND text "{\"\", \"\"}};\n}\n")
file(WRITE ${OUT} "${text}")
