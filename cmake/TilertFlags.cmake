# Compiler and linker flags common to the library, its plugin, samples and tests; the external libraries.
# Not here: which sources make what (TilertRooms.cmake).

add_library(tilert_flags INTERFACE)
target_compile_options(tilert_flags INTERFACE -Wall -Wextra -ffp-contract=off -ffunction-sections -fdata-sections
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
if(TILERT_WERROR)
  target_compile_options(tilert_flags INTERFACE -Werror)
endif()
if(TILERT_SANITIZE)
  target_compile_options(tilert_flags INTERFACE -fsanitize=${TILERT_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g)
  target_link_options(tilert_flags INTERFACE -fsanitize=${TILERT_SANITIZE})
endif()
if(TILERT_FUZZ)
  target_compile_options(tilert_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
# A release carries its own C++ runtime, hidden, so that the host's may be any other.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TILERT_SANITIZE)
  set(TILERT_SELF_CONTAINED ON)
else()
  set(TILERT_SELF_CONTAINED OFF)
endif()
# It is hardened as distributions harden theirs, which costs a few instructions where a function has arrays.
if(TILERT_SELF_CONTAINED)
  set(TILERT_HARDENING -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Werror=format-security)
  target_compile_options(tilert_flags INTERFACE ${TILERT_HARDENING})
  target_link_options(tilert_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # no variable of ours is the whole process's by its name
    target_compile_options(tilert_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
endif()
if(TILERT_TIDY)
  find_program(TILERT_CLANG_TIDY NAMES clang-tidy-19 clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${TILERT_CLANG_TIDY} --quiet)
endif()

add_library(tilert_external INTERFACE)
target_link_libraries(tilert_external INTERFACE fmt::fmt-header-only SQLite::SQLite3 PkgConfig::SODIUM Threads::Threads ${CMAKE_DL_LIBS})
