# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
foreach(area IN ITEMS msgq msgq_message msgq_fault)
  api_frame(${area} frame)
  jacquard_test(api_${area}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${frame}
    DEPENDS jacquard_aries)
endforeach()
api_frame(process frame)
jacquard_test(api_process
  SOURCES ${CMAKE_SOURCE_DIR}/tests/api/process_test.c ${frame}
  DEPENDS jacquard_aries)
