# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
jacquard_test(aries_hashed_agreement
  SOURCES ${CMAKE_SOURCE_DIR}/tests/api/hashed_agreement_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
  DEPENDS jacquard_aries m TIMEOUT 600)
