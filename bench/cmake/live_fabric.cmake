# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET gni-fi AND TARGET jacquard-fabricd)
  jacquard_bench(bench-live SOURCES ${CMAKE_SOURCE_DIR}/bench/live.c ${CMAKE_SOURCE_DIR}/bench/live_libfabric.c
                 ${CMAKE_SOURCE_DIR}/bench/live_ugni.c DEPENDS ugni PkgConfig::LIBFABRIC)
  if(TARGET bench-live)
    target_compile_definitions(bench-live PRIVATE _GNU_SOURCE)
    add_dependencies(bench-live gni-fi jacquard-fabricd)
  endif()
endif()
