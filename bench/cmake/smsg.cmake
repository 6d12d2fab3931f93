# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_bench(bench-smsg SOURCES ${CMAKE_SOURCE_DIR}/bench/smsg.c DEPENDS jacquard_aries)
