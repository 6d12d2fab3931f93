# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET jacquard-fabricd)
  jacquard_bench(bench-live-ring SOURCES ${CMAKE_SOURCE_DIR}/bench/live_ring.c DEPENDS jacquard_shm)
  if(TARGET bench-live-ring)
    add_dependencies(bench-live-ring jacquard-fabricd)
  endif()
endif()
