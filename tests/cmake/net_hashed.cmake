# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# It compares times, as the other agreements do, which instrumented builds leave out, too.
if(NOT COVERAGE)
  api_frame(hashed_agreement frame)
  jacquard_test(aries_hashed_agreement
    SOURCES ${CMAKE_SOURCE_DIR}/tests/api/hashed_agreement_test.c ${frame}
    DEPENDS jacquard_aries m TIMEOUT 900)
endif()
