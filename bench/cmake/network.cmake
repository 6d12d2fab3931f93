# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_bench(bench-network SOURCES ${CMAKE_SOURCE_DIR}/bench/network.c DEPENDS jacquard_net jacquard_engine)
