# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_bench(bench-pmi SOURCES ${CMAKE_SOURCE_DIR}/bench/pmi.c ${CMAKE_SOURCE_DIR}/tests/pmi/driver.c
               DEPENDS pmi2_server INCLUDES ${CMAKE_SOURCE_DIR}/tests/pmi)
