# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
foreach(area IN ITEMS msgq msgq_setup msgq_traffic)
  jacquard_test(api_${area}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/api/msgq_instance.c
            ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
    DEPENDS jacquard_aries)
endforeach()
jacquard_test(api_process
  SOURCES ${CMAKE_SOURCE_DIR}/tests/api/process_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
  DEPENDS jacquard_aries)
