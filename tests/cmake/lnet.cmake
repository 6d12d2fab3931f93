# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# LNet's core over a driver of the tests: tests/lnet/world.h.
foreach(area IN ITEMS init eq md match event move lo credit route health fault discovery)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/lnet/${area}_test.c)
    jacquard_test(lnet_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/lnet/world.c
              ${CMAKE_SOURCE_DIR}/tests/lnet/wire.c
      DEPENDS jacquard_lnet m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet TIMEOUT 900)
  endif()
endforeach()
foreach(area IN ITEMS property sequence)
  jacquard_test(lnet_${area}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/lnet/world.c
            ${CMAKE_SOURCE_DIR}/tests/lnet/wire.c
    DEPENDS jacquard_lnet m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests FULL TIMEOUT 900)
endforeach()
