# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_bench(bench-machine SOURCES ${CMAKE_SOURCE_DIR}/bench/machine.c)
if(TARGET bench-machine)
  add_dependencies(bench-machine sim-run)
endif()
