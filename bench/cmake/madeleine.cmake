# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET madeleine_shared AND TARGET pmrun)
  jacquard_bench(bench-madeleine SOURCES ${CMAKE_SOURCE_DIR}/bench/madeleine.c DEPENDS madeleine_shared)
  if(TARGET bench-madeleine)
    add_dependencies(bench-madeleine pmrun)
  endif()
endif()
