# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_bench(bench-engine SOURCES ${CMAKE_SOURCE_DIR}/bench/engine.c ${CMAKE_SOURCE_DIR}/bench/engine_rivals.c
               DEPENDS jacquard_engine INCLUDES ${CMAKE_SOURCE_DIR}/sim/engine)
jacquard_bench(bench-ranks SOURCES ${CMAKE_SOURCE_DIR}/bench/ranks.c DEPENDS jacquard_engine)
