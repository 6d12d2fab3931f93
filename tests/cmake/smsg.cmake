# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
foreach(area IN ITEMS datagram datagram_wait datagram_fault smsg smsg_fault smsg_mode watch)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    api_frame(${area} frame)
    jacquard_test(api_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${frame}
      DEPENDS jacquard_aries INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
  endif()
endforeach()
