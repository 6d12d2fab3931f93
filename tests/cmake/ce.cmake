# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The collective engine; statistics.
jacquard_test(ce_combine SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/ce_combine_test.c DEPENDS jacquard_aries m
              INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
foreach(area IN ITEMS ce ce_call ce_program ce_error ce_gone)
  api_frame(${area} frame)
  jacquard_test(api_${area}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${frame}
    DEPENDS jacquard_aries m)
endforeach()
api_frame(statistics frame)
jacquard_test(api_statistics
  SOURCES ${CMAKE_SOURCE_DIR}/tests/api/statistics_test.c ${frame} DEPENDS jacquard_aries m)
