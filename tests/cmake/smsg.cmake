# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
foreach(area IN ITEMS datagram smsg watch)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    jacquard_test(api_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
      DEPENDS jacquard_aries INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
  endif()
endforeach()
