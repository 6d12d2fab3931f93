# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET m0lnet_driver AND TARGET sim-run)
  jacquard_bench(bench-m0net SOURCES ${CMAKE_SOURCE_DIR}/bench/m0net.c)
  if(TARGET bench-m0net)
    add_dependencies(bench-m0net sim-run)
  endif()
endif()
