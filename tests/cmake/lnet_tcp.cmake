# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# socklnd and its TCP in simulation.
foreach(part IN ITEMS wire stream tcp tcp_failures tcp_hostile capture)
  jacquard_test(lnet_${part} SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/lnet_${part}.c DEPENDS jacquard_lnet
                INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
endforeach()

# Live: run by tests/live/test_lnet.py.
if(TARGET lnet)
  add_executable(lnet_exchange ${CMAKE_SOURCE_DIR}/tests/live/lnet_exchange.c)
  target_link_libraries(lnet_exchange PRIVATE lnet jacquard_flags)
  set_target_properties(lnet_exchange PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(lnet_exchange)
  # Run by tests/live/test_lst.py. The layout of the self-test's messages is its own.
  add_executable(lst_hostile ${CMAKE_SOURCE_DIR}/tests/live/lst_hostile.c)
  target_include_directories(lst_hostile PRIVATE ${CMAKE_SOURCE_DIR}/stack/lst ${CMAKE_SOURCE_DIR}/stack/lst/include)
  target_link_libraries(lst_hostile PRIVATE lst port_posix lnet_static jacquard_flags)
  set_target_properties(lst_hostile PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(lst_hostile)
endif()

# Machines that say anything: with fixed seeds for ctest, and for libFuzzer (./dev fuzz lnet_tcp).
add_executable(fuzz_lnet_tcp_fixed ${CMAKE_SOURCE_DIR}/tests/fuzz/lnet_tcp_main.c ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_lnet_tcp.c)
jacquard_no_whole_program(fuzz_lnet_tcp_fixed)
target_include_directories(fuzz_lnet_tcp_fixed PRIVATE ${CMAKE_SOURCE_DIR}/sim/lnet)
target_link_libraries(fuzz_lnet_tcp_fixed PRIVATE jacquard_lnet jacquard_flags)
set_target_properties(fuzz_lnet_tcp_fixed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(seeds 5000)
if(SANITIZE) # each takes several times as long
  set(seeds 1700)
endif()
add_test(NAME fuzz_lnet_tcp COMMAND fuzz_lnet_tcp_fixed ${seeds})
set_tests_properties(fuzz_lnet_tcp PROPERTIES LABELS lnet TIMEOUT 900)
jacquard_fuzz(fuzz_lnet_tcp SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_lnet_tcp.c DEPENDS jacquard_lnet INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
