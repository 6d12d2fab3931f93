# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_test(api_msgq
  SOURCES ${CMAKE_SOURCE_DIR}/tests/api/msgq_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
  DEPENDS jacquard_aries)
jacquard_test(api_process
  SOURCES ${CMAKE_SOURCE_DIR}/tests/api/process_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
  DEPENDS jacquard_aries)
