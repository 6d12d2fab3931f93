# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
set(parts packet packet_load packet_faults)
if(NOT COVERAGE) # it searches all paths, which takes minutes when it is instrumented
  list(APPEND parts packet_deadlock)
endif()
foreach(part IN LISTS parts)
  jacquard_test(net_${part} SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/net_${part}.c
                DEPENDS jacquard_net jacquard_engine m INCLUDES ${CMAKE_SOURCE_DIR}/sim/net)
endforeach()
# Whole operations: the NIC over packets. As in nic.cmake, it takes minutes when it is instrumented.
if(NOT COVERAGE)
  api_frame(packet_agreement frame)
  jacquard_test(aries_packet_agreement
    SOURCES ${CMAKE_SOURCE_DIR}/tests/api/packet_agreement_test.c ${frame}
    DEPENDS jacquard_aries m)
endif()
