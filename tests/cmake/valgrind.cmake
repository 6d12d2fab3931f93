# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Under Valgrind, some seconds: ctest -L valgrind. The engine tells it of the fibers' stacks when the build found
# its header.
find_program(VALGRIND valgrind)
if(VALGRIND AND NOT SANITIZE AND NOT COVERAGE)
  set(valgrind_command ${VALGRIND} --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite
      --suppressions=${CMAKE_SOURCE_DIR}/tests/fuzz/valgrind.supp)
  foreach(test IN ITEMS api_ep api_amo api_datagram engine_fiber)
    if(TARGET ${test})
      add_test(NAME valgrind_${test} COMMAND ${valgrind_command} $<TARGET_FILE:${test}> WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(valgrind_${test} PROPERTIES LABELS valgrind TIMEOUT 900)
    endif()
  endforeach()
  add_test(NAME valgrind_fuzz_api COMMAND ${valgrind_command} $<TARGET_FILE:fuzz_api_fixed> --seeds 60)
  set_tests_properties(valgrind_fuzz_api PROPERTIES LABELS valgrind TIMEOUT 900)
endif()
