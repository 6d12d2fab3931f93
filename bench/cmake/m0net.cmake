# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET m0net_live AND TARGET lnet_static AND TARGET sim-run)
  jacquard_bench(bench-m0net SOURCES ${CMAKE_SOURCE_DIR}/bench/m0net.c ${CMAKE_SOURCE_DIR}/bench/m0net_live.c
    ${CMAKE_SOURCE_DIR}/bench/m0net_process.c ${CMAKE_SOURCE_DIR}/bench/pair.c ${CMAKE_SOURCE_DIR}/bench/pair_lnet.c
    DEPENDS m0net_live lnet_static)
  if(TARGET bench-m0net)
    target_compile_definitions(bench-m0net PRIVATE _GNU_SOURCE)
    add_dependencies(bench-m0net sim-run jacquard-lnet)
  endif()
endif()
