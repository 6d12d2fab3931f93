# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# LNet's drivers over simulated networks: tests/lnet/networks.h.
jacquard_shared(lnet_networks SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/world.c ${CMAKE_SOURCE_DIR}/tests/lnet/networks.c
                DEPENDS jacquard_lnet PkgConfig::GLIB INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
foreach(driver IN ITEMS o2ib gni gni_error)
  jacquard_test(lnet_${driver}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/${driver}_test.c ${lnet_networks}
    DEPENDS jacquard_lnet PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet TIMEOUT 900)
endforeach()
foreach(part IN ITEMS verbs o2ib_wire)
  jacquard_test(lnet_${part} SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/${part}_test.c
    DEPENDS jacquard_lnet m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
endforeach()
