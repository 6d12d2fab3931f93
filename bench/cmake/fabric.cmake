# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
if(TARGET gni_prov)
  jacquard_bench(bench-fabric SOURCES ${CMAKE_SOURCE_DIR}/bench/fabric.c
                 DEPENDS jacquard_run PkgConfig::GLIB PkgConfig::JANSSON)
endif()
