# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Processes of m0_net over a daemon: plain programs of libm0net.so, run by tests/live/test_m0_live.py.
if(TARGET m0net_live)
  foreach(program IN ITEMS m0_grid m0_reopen)
    add_executable(${program} ${CMAKE_SOURCE_DIR}/tests/live/${program}.c)
    target_link_libraries(${program} PRIVATE m0net_live jacquard_flags)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    jacquard_no_whole_program(${program})
  endforeach()
endif()
