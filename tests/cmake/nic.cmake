# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The model of the Aries NIC: packets and limits, times, faults.
foreach(area IN ITEMS nic timing fault)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    jacquard_test(aries_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/api/shot.c
              ${CMAKE_SOURCE_DIR}/tests/api/fixture.c
      DEPENDS jacquard_aries m)
  endif()
endforeach()
