# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET lnet_static)
  jacquard_bench(bench-lnet SOURCES ${CMAKE_SOURCE_DIR}/bench/lnet.c ${CMAKE_SOURCE_DIR}/bench/pair.c ${CMAKE_SOURCE_DIR}/bench/pair_lnet.c
    DEPENDS lnet_static)
  if(TARGET bench-lnet)
    target_compile_definitions(bench-lnet PRIVATE _GNU_SOURCE)
    add_dependencies(bench-lnet sim-run)
  endif()
endif()
