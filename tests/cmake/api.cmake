# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Conformance of the uGNI calls on the simulated NIC; fixture.h describes the machine they run on.
foreach(area IN ITEMS cdm ep cq mem post amo error)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    jacquard_test(api_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c ${CMAKE_SOURCE_DIR}/tests/api/machine.c
      DEPENDS jacquard_aries m INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
  endif()
endforeach()
