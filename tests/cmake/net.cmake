# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
foreach(part IN ITEMS topology links routing faults switched trains)
  jacquard_test(net_${part} SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/net_${part}.c DEPENDS trace_reader jacquard_net jacquard_engine m)
endforeach()
