# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# gni_pub.h and the parts of the uGNI library without state, tested without the rest of it.

set(aries ${CMAKE_SOURCE_DIR}/sim/aries)
add_library(ugni_stateless OBJECT
  ${aries}/api/strings.c ${aries}/nic/cq_entry.c ${aries}/nic/ce_result.c ${aries}/nic/mem_handle.c ${aries}/nic/status.c
  ${aries}/api/device.c)
target_include_directories(ugni_stateless PUBLIC ${aries}/include ${aries})
target_link_libraries(ugni_stateless PRIVATE jacquard_flags)

# Both numberings of the statistics; the one without is also the C99 build.
jacquard_test(header_test SOURCES ${CMAKE_SOURCE_DIR}/tests/api/header_test.c DEPENDS ugni_stateless)
jacquard_test(header_c99_test SOURCES ${CMAKE_SOURCE_DIR}/tests/api/header_test.c DEPENDS ugni_stateless)
jacquard_test(handle_test SOURCES ${CMAKE_SOURCE_DIR}/tests/api/handle_test.c DEPENDS ugni_stateless)
if(TARGET header_test)
  target_compile_definitions(header_test PRIVATE CRAY_CONFIG_GHAL_ARIES)
  set_target_properties(header_c99_test PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
endif()

# The header by itself in each language that programs are written in. C++ is no language of this project, so its
# compiler is looked for here only, and run as a user would.
set(alone ${CMAKE_SOURCE_DIR}/tests/api/header_alone.c)
set(warnings -Wall -Wextra -Werror -fsyntax-only -I${aries}/include)
foreach(standard IN ITEMS c90 c99 c11 gnu11)
  add_test(NAME ugni_2_header_${standard} COMMAND ${CMAKE_C_COMPILER} -std=${standard} ${warnings} ${alone})
  set_tests_properties(ugni_2_header_${standard} PROPERTIES LABELS api)
endforeach()
find_program(CXX_FOR_HEADER NAMES c++ g++ clang++)
if(CXX_FOR_HEADER)
  foreach(standard IN ITEMS c++98 c++11 c++17)
    add_test(NAME ugni_2_header_${standard} COMMAND ${CXX_FOR_HEADER} -x c++ -std=${standard} ${warnings} ${alone})
    set_tests_properties(ugni_2_header_${standard} PROPERTIES LABELS api)
  endforeach()
  if(NOT SANITIZE AND NOT COVERAGE) # their run-time libraries differ between compilers
    add_test(NAME ugni_2_header_links_as_cxx
      COMMAND ${CXX_FOR_HEADER} -I${aries}/include -o ${CMAKE_BINARY_DIR}/tests/header_cxx -x c++ ${alone} -x none
              $<TARGET_OBJECTS:ugni_stateless>
      COMMAND_EXPAND_LISTS)
    set_tests_properties(ugni_2_header_links_as_cxx PROPERTIES LABELS api FIXTURES_SETUP header_cxx)
    add_test(NAME ugni_2_header_runs_as_cxx COMMAND ${CMAKE_BINARY_DIR}/tests/header_cxx)
    set_tests_properties(ugni_2_header_runs_as_cxx PROPERTIES LABELS api FIXTURES_REQUIRED header_cxx)
  endif()
endif()
