# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Processes of m0_net over a daemon: a plain program of libm0net.so, run by tests/live/test_m0_live.py.
if(TARGET m0net_live)
  add_executable(m0_grid ${CMAKE_SOURCE_DIR}/tests/live/m0_grid.c)
  target_link_libraries(m0_grid PRIVATE m0net_live jacquard_flags)
  set_target_properties(m0_grid PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(m0_grid)
endif()
