# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# VIPL over the model of M-VIA: processes are fibers, without a cluster.
if(TARGET jacquard_legacy)
  foreach(area IN ITEMS objects transfer)
    jacquard_test(via_${area} SOURCES ${CMAKE_SOURCE_DIR}/tests/legacy/via_${area}_test.c ${CMAKE_SOURCE_DIR}/tests/legacy/via_world.c
      DEPENDS jacquard_legacy jacquard_net jacquard_engine INCLUDES ${CMAKE_SOURCE_DIR}/sim/legacy)
  endforeach()
endif()
