# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The support library of m0_net, and m0_net with the transport in memory, on POSIX and for ranks.
set(m0_tests ${CMAKE_SOURCE_DIR}/tests/m0)
function(m0_cases name library)
  jacquard_test(m0_${name}_posix SOURCES ${m0_tests}/lib_posix.c ${m0_tests}/${name}_cases.c DEPENDS ${library} port_posix pthread
    INCLUDES ${m0_tests})
  target_compile_definitions(m0_${name}_posix PRIVATE M0_CASES="${name}_cases.h")
  if(TARGET jacquard_run)
    # Both the simulation and m0_net have a header net/net.h: each source sees one of them first.
    add_library(m0_${name}_ranks OBJECT ${m0_tests}/lib_fiber.c)
    target_include_directories(m0_${name}_ranks PRIVATE ${m0_tests})
    target_compile_definitions(m0_${name}_ranks PRIVATE M0_CASES="${name}_cases.h")
    target_link_libraries(m0_${name}_ranks PRIVATE jacquard_run jacquard_flags PkgConfig::GLIB PkgConfig::JANSSON PkgConfig::CMOCKA)
    jacquard_test(m0_${name}_fiber SOURCES ${m0_tests}/${name}_cases.c $<TARGET_OBJECTS:m0_${name}_ranks>
      DEPENDS ${library} jacquard_run PkgConfig::GLIB PkgConfig::JANSSON m INCLUDES ${m0_tests})
  endif()
endfunction()
if(TARGET m0lib)
  m0_cases(lib m0lib)
  m0_cases(sm m0lib)
  m0_cases(objects m0lib)
  m0_cases(ping "m0ping;m0net;m0lib")
  m0_cases(nettest "m0nettest;m0net;m0lib")
  m0_cases(books "m0net;m0lib")
endif()
